// fairswitch variants
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "userspace/base/failure.h"
#include "userspace/cli/command.h"
#include "userspace/cli/commands.h"
#include "userspace/cli/graft_options.h"
#include "userspace/graft/builder.h"

namespace fairswitch {
namespace {

// A scratch folder that goes when the listing is done.
class Scratch {
  public:
    Scratch() {
        auto name =
            (std::filesystem::temp_directory_path() / "fairswitch-variants.XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) {
            fail(Exit::kRunFailed, "{}: can't make a scratch folder ({}); see --out", name,
                 std::strerror(errno));
        }
        path_ = name;
    }
    ~Scratch() {
        std::error_code ignored;  // a folder left behind in /tmp harms nobody
        std::filesystem::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

class VariantsCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        auto* command = app.add_subcommand(
            "variants", "List the variants that a kernel can have, and which position is stock");
        command->add_option(
            "--out", options_.out,
            "Keep the intermediate steps in this folder (default: they are removed)");
        declare_graft_inputs(command, options_);
        command->add_flag("--diff", diff_,
                          "Also show each variant's change of the source, and compile both "
                          "positions to name the functions whose code differs");
        return command;
    }

    int run() override {
        std::unique_ptr<Scratch> scratch;
        if (options_.out.empty()) {
            scratch = std::make_unique<Scratch>();
            options_.out = scratch->path();
        }
        Builder(options_).list(diff_);
        return static_cast<int>(Exit::kOk);
    }

  private:
    BuildOptions options_;
    bool diff_ = false;
};

}  // namespace

std::unique_ptr<Command> make_variants_command() { return std::make_unique<VariantsCommand>(); }

}  // namespace fairswitch
