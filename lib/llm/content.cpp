#include <sluice/llm/content.hpp>

namespace sluice::llm {

content_part content_part::words(std::string said) { return content_part(kind::text, std::move(said)); }

content_part content_part::image_url(std::string url) { return content_part(kind::image, std::move(url)); }

content_part content_part::image(std::string media_type, std::string base64) {
  content_part made(kind::image, std::move(base64));
  made.media_type = std::move(media_type);
  return made;
}

content_part content_part::file(std::string name, std::string media_type, std::string base64) {
  content_part made(kind::file, std::move(base64));
  made.name = std::move(name);
  made.media_type = std::move(media_type);
  return made;
}

content_part content_part::native(dialect spoken, std::string json) {
  content_part made(kind::native, std::move(json));
  made.spoken = spoken;
  return made;
}

}  // namespace sluice::llm
