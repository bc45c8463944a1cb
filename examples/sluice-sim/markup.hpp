/// \file
/// Text and numbers as they stand in HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace sluice_sim {

/// Fit for text and for attributes in double quotes.
[[nodiscard]] std::string escaped(std::string_view text);

/// For a reader: four significant digits or a whole number, `none` for what is not a finite number.
[[nodiscard]] std::string figure(double value);

/// The same for an axis, where there is little room: `1.5 M`, `20 k`.
[[nodiscard]] std::string short_figure(double value);

/// A coordinate to a tenth. Precondition: finite.
[[nodiscard]] std::string px(double value);

/// ` name="value"`, escaped.
[[nodiscard]] std::string attribute(std::string_view name, std::string_view value);

}  // namespace sluice_sim
