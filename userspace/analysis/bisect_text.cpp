#include <fmt/format.h>

#include "userspace/analysis/bisect.h"

namespace fairswitch {
namespace {

class Text {
  public:
    Text(const BisectResult& result, const BisectOptions& options,
         const std::vector<std::string>& names)
        : result_(result), options_(options), names_(names) {}

    std::string render() const {
        std::string out = answer() + "\n" + effect() + "\nEvidence:\n";
        for (const BisectStep& step : result_.steps) out += step_text(step);
        return out + fmt::format(
                         "{} rounds in all. At most {:g} % of such searches say what isn't so: a "
                         "change, a culprit, or that it takes more than two.\n",
                         result_.rounds, 100 * options_.error_rate);
    }

  private:
    std::string set_text(const SwitchSet& set) const {
        std::vector<std::string> words;
        for (size_t i : set) words.push_back(i < names_.size() ? names_[i] : fmt::format("#{}", i));
        return fmt::format("{}", fmt::join(words, " + "));
    }

    static std::string percent_text(const std::optional<double>& percent) {
        return percent ? fmt::format("{:+.0f} %", *percent) : "n/a (base is 0)";
    }

    std::string answer() const {
        const char* metric = metric_name(options_.metric);
        switch (result_.answer) {
            case BisectAnswer::kNoChange:
                return fmt::format("No change of {} is seen between base and all turned.", metric);
            case BisectAnswer::kCulprits:
                return fmt::format("{} changes {}.", set_text(result_.culprits), metric);
            case BisectAnswer::kNotThese:
                return fmt::format("The change of {} isn't due to one or two of these switches.",
                                   metric);
            case BisectAnswer::kUnconfirmed:
                if (result_.culprits.empty())
                    return fmt::format(
                        "There is a change of {}, but the search couldn't tell what it is due to; "
                        "longer blocks may.",
                        metric);
                return fmt::format(
                    "There is a change of {}; the search pointed to {}, but fresh blocks didn't "
                    "confirm it.",
                    metric, set_text(result_.culprits));
        }
        return "";
    }

    std::string effect() const {
        if (result_.answer != BisectAnswer::kCulprits) return "";
        std::string out = "  difference from base: " + percent_text(result_.percent);
        out += result_.interval ? fmt::format(" ({:+.0f} .. {:+.0f} %)\n", result_.interval->low,
                                              result_.interval->high)
                                : " (no interval)\n";
        for (const BisectArm& arm : result_.alone)
            out += fmt::format("  {} alone: {}, p {:.2g}\n", set_text(arm.turned),
                               percent_text(arm.percent), arm.p);
        return out;
    }

    std::string step_text(const BisectStep& step) const {
        const char* kind = step.kind == BisectStep::Kind::kDetect    ? "detect "
                           : step.kind == BisectStep::Kind::kConfirm ? "confirm"
                                                                     : "search ";
        std::string out = fmt::format("  {} {:>4} rounds, level {:.2g}: {}\n", kind, step.rounds,
                                      step.level, step.conclusion);

        for (const BisectArm& arm : step.arms)
            out += fmt::format("      {:>16} p {:<8.2g} {}\n", percent_text(arm.percent), arm.p,
                               set_text(arm.turned));
        return out;
    }

    const BisectResult& result_;
    const BisectOptions& options_;
    const std::vector<std::string>& names_;
};

}  // namespace

std::string bisect_text(const BisectResult& result, const BisectOptions& options,
                        const std::vector<std::string>& names) {
    return Text(result, options, names).render();
}

}  // namespace fairswitch
