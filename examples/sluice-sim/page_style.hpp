/// \file
/// How the report looks, and what answers to a pointer on it.
#pragma once

namespace sluice_sim {

/// CSS for light and dark, wide and narrow.
extern const char* const page_style;

/// A script that shows the values under the pointer; the page is complete without it. Without `<` and `&`, so that it
/// may stand in XML.
extern const char* const page_script;

}  // namespace sluice_sim
