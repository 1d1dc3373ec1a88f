#include "userspace/analysis/same_conditions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "userspace/analysis/evidence.h"

namespace fairswitch {
namespace {

constexpr size_t kMostText = 34;  // of each side, so that a line fits 100 columns

std::string shortened(const std::string& text) {
    if (text.empty()) return "nothing";
    const std::string clean = printable(text);
    return clean.size() <= kMostText ? clean : clean.substr(0, kMostText - 3) + "...";
}

std::string hex(const std::string& bytes) {
    std::string out;
    for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return out;
}

class Differences {
  public:
    // From where they differ on, if the beginning alone wouldn't show it.
    void compare(const std::string& what, const std::string& a, const std::string& b) {
        if (a == b) return;
        size_t at = 0;
        while (at < std::min(a.size(), b.size()) && a[at] == b[at]) ++at;
        const bool shown = at + 4 < kMostText;
        const auto from = [&](const std::string& text) {
            return shown ? shortened(text) : shortened("..." + text.substr(at > 8 ? at - 8 : 0));
        };
        lines_.push_back(fmt::format("{}: {} against {}", what, from(a), from(b)));
    }

    std::vector<std::string> take() { return std::move(lines_); }

  private:
    std::vector<std::string> lines_;
};

// The graft's manifest without the time that the build took.
std::string manifest(const Header& header) {
    std::istringstream in(header.graft());
    std::string out;
    for (std::string line; std::getline(in, line);)
        if (!line.starts_with("elapsed_ns:")) out += line + "\n";
    return out;
}

// The recorder's command line without its arms and outputs: what is left is the load.
std::string command(const Header& header) {
    static const std::set<std::string> kFree = {"--arm", "--arms", "-o", "--output", "--out"};
    std::istringstream in(header.command());
    std::string out;
    bool own = true;  // before the `--` of the load's own words
    for (std::string word; in >> word;) {
        if (word == "--") own = false;
        if (own && kFree.contains(word)) {
            in >> word;
            continue;
        }
        if (own && kFree.contains(word.substr(0, word.find('=')))) continue;
        out += (out.empty() ? "" : " ") + word;
    }
    return out;
}

std::string variants(const Header& header) {
    std::string out;
    for (const VariantInfo& variant : header.variants())
        out += fmt::format("{}{}:{}", out.empty() ? "" : " ", variant.index(), variant.id());
    return out;
}

std::map<std::string, std::string> settings(const Header& header) {
    std::map<std::string, std::string> out;
    for (const Setting& setting : header.settings()) out[setting.name()] = setting.value();
    return out;
}

std::string watched(const Header& header) {
    return fmt::format("{}", fmt::join(header.watched(), " "));
}

}  // namespace

std::vector<std::string> differing_conditions(const Header& a, const Header& b) {
    Differences out;
    out.compare("kernel", a.kernel_release(), b.kernel_release());
    out.compare("kernel version", a.kernel_version(), b.kernel_version());
    out.compare("kernel build id", hex(a.build_id()), hex(b.build_id()));
    out.compare("CPUs", std::to_string(a.cpus()), std::to_string(b.cpus()));
    out.compare("ring bytes", std::to_string(a.ring_bytes()), std::to_string(b.ring_bytes()));
    out.compare("variants of the module", variants(a), variants(b));
    out.compare("graft manifest", manifest(a), manifest(b));
    out.compare("command, arms and outputs aside", command(a), command(b));
    out.compare("watched pids", watched(a), watched(b));
    auto settings_a = settings(a), settings_b = settings(b);
    std::set<std::string> names;
    for (const auto* all : {&settings_a, &settings_b})
        for (const auto& [name, value] : *all) names.insert(name);
    for (const std::string& name : names) out.compare(name, settings_a[name], settings_b[name]);
    return out.take();
}

}  // namespace fairswitch
