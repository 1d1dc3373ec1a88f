// The identity proof, against a kernel of one page that is linked on the spot.
#include "tests/unit/graft_support.h"
#include "userspace/graft/identity.h"

namespace fairswitch {
namespace {

using testing::compile_c;
using testing::failure_of;
using testing::must_run;
using testing::ScratchFolder;

constexpr const char* kCode = R"(
extern int first(int);
extern int second(int);
extern int setting;
extern void print(const char *);
int caller(int x) { return first(x) + setting; }
void printer(void) { print("hello"); }
static int __attribute__((noinline)) local(int x) { return second(x) * 3; }
int through(int x) { return local(x) + 1; }
)";

constexpr const char* kRest = R"(
int setting = 4;
int first(int x) { return x + 1; }
int second(int x) { return x + 2; }
void print(const char *text) { setting = *text; }
void _text(void) {}
)";

struct TinyKernel {
    KernelImage image;
    Kallsyms kallsyms;
};

// Links `code` and the rest as an executable at the kernel's address.
TinyKernel link_kernel(const ScratchFolder& folder, const std::string& code) {
    compile_c(folder, "kernel_fair", code);
    compile_c(folder, "kernel_rest", kRest);
    const auto at = [&](const char* name) { return (folder / name).string(); };
    // As in a kernel, _text is where the first segment begins.
    folder.put("kernel.lds", R"(
PHDRS { text PT_LOAD; data PT_LOAD; note PT_NOTE; }
SECTIONS {
    . = 0xffffffff81000000;
    .text : { *(.text._text) *(.text*) } :text
    .rodata : { *(.rodata*) } :text
    .note.gnu.build-id : { *(.note.gnu.build-id) } :text :note
    .data : { *(.data*) } :data
})");
    must_run("ld -static --build-id=sha1 -z max-page-size=4096 -T " + at("kernel.lds") + " -o " +
             at("vmlinux") + " " + at("kernel_rest.o") + " " + at("kernel_fair.o") + " 2>&1");
    must_run("nm " + at("vmlinux") + " > " + at("kallsyms"));
    return {KernelImage::parse(read_file(folder / "vmlinux"), "tiny kernel"),
            Kallsyms::read(folder / "kallsyms")};
}

TEST(IdentityTest, EqualSourceIsIdentical) {
    ScratchFolder folder;
    const auto kernel = link_kernel(folder, kCode);
    const auto stock = compile_c(folder, "stock", kCode).object;
    const auto identity = prove_identity(stock, "stock", kernel.image, kernel.kallsyms);
    EXPECT_EQ(identity.compared, 4U);
    EXPECT_EQ(identity.identical.size(), 4U);
    EXPECT_TRUE(identity.different.empty()) << identity.different.begin()->second;
}

// Only the relocation tells these apart: the machine code is the same.
TEST(IdentityTest, AnotherCallTargetIsSeen) {
    ScratchFolder folder;
    std::string other = kCode;
    other.replace(other.find("return first(x)"), 15, "return second(x)");
    const auto kernel = link_kernel(folder, other);
    const auto stock = compile_c(folder, "stock", kCode).object;
    const auto identity = prove_identity(stock, "stock", kernel.image, kernel.kallsyms);
    EXPECT_EQ(identity.identical.size(), 3U);
    ASSERT_EQ(identity.different.count("caller"), 1U);
    EXPECT_NE(identity.different.at("caller").find("refers to first, the kernel to second"),
              std::string::npos)
        << identity.different.at("caller");
}

TEST(IdentityTest, AnotherStringIsSeen) {
    ScratchFolder folder;
    std::string other = kCode;
    other.replace(other.find("hello"), 5, "howdy");
    const auto kernel = link_kernel(folder, other);
    const auto identity = prove_identity(compile_c(folder, "stock", kCode).object, "stock",
                                         kernel.image, kernel.kallsyms);
    ASSERT_EQ(identity.different.count("printer"), 1U);
    EXPECT_NE(identity.different.at("printer").find("howdy"), std::string::npos);
}

TEST(IdentityTest, AnotherConstantIsSeen) {
    ScratchFolder folder;
    std::string other = kCode;
    other.replace(other.find("* 3"), 3, "* 5");
    const auto kernel = link_kernel(folder, other);
    const auto identity = prove_identity(compile_c(folder, "stock", kCode).object, "stock",
                                         kernel.image, kernel.kallsyms);
    ASSERT_EQ(identity.different.count("local"), 1U);
    EXPECT_NE(identity.different.at("local").find("code differs"), std::string::npos);
}

TEST(IdentityTest, AbsentFunctionIsNotCompared) {
    ScratchFolder folder;
    const auto kernel = link_kernel(folder, kCode);
    const auto more = std::string(kCode) + "int brand_new(int x) { return x; }\n";
    const auto identity = prove_identity(compile_c(folder, "stock", more).object, "stock",
                                         kernel.image, kernel.kallsyms);
    EXPECT_EQ(identity.absent, std::set<std::string>{"brand_new"});
    EXPECT_EQ(identity.compared, 4U);
}

TEST(ImageTest, BuildIdAndBanner) {
    ScratchFolder folder;
    const auto kernel = link_kernel(folder, kCode);
    EXPECT_FALSE(failure_of([&] { kernel.image.banner(); }).empty()) << "it has none";
    EXPECT_EQ(kernel.image.build_id().size(), 40U) << "a SHA-1 in hex";
    const std::string debian =
        "Linux version 6.12.117+deb12-cloud-amd64 (debian-kernel@lists.debian.org) (gcc-12) #1 SMP "
        "PREEMPT_DYNAMIC Debian 6.12.117-1~deb12u1 (2026-11-14)";
    EXPECT_EQ(banner_release(debian), "6.12.117+deb12-cloud-amd64");
    EXPECT_EQ(package_version(debian), "6.12.117-1~deb12u1");
    EXPECT_EQ(package_version("Linux version 6.12.117 (me@here) #1 SMP"), "");
    // namesz 4, descsz 3, type 3 (build-id), "GNU", then the id.
    const std::string note("\4\0\0\0\3\0\0\0\3\0\0\0GNU\0\xab\xcd\x01\0", 20);
    EXPECT_EQ(find_build_id(note), "abcd01");
    EXPECT_EQ(find_build_id(note.substr(0, 15)), "");
}

// As the kernel's build packs it: what is unpacked at boot, behind a setup header of one sector.
std::string boot_image(const std::string& payload) {
    std::string file(1024, '\0');
    file[0x1f1] = 1;
    file.replace(0x202, 4, "HdrS");
    const auto length = static_cast<uint32_t>(payload.size());
    file.replace(0x24c, 4, reinterpret_cast<const char*>(&length), 4);
    return file + payload;
}

TEST(ImageTest, EveryPackingIsUnpacked) {
    ScratchFolder folder;
    const auto kernel = link_kernel(folder, kCode);
    const auto packed = (folder / "packed").string();
    for (const std::string packer : {"gzip", "xz", "zstd"}) {
        must_run(packer + " -c " + (folder / "vmlinux").string() + " > " + packed);
        // gzip ends with the unpacked size; to others the build appends it.
        const auto payload = read_file(packed) + (packer == "gzip" ? "" : "size");
        const auto image =
            KernelImage::read(folder.put("vmlinuz", boot_image(payload)), folder / "work");
        EXPECT_EQ(image.build_id(), kernel.image.build_id()) << packer;
    }
}

TEST(ImageTest, ForeignFileIsRefused) {
    ScratchFolder folder;
    const auto file = folder.put("vmlinuz", std::string(4096, 'x'));
    const auto message = failure_of([&] { KernelImage::read(file, folder.path()); });
    EXPECT_NE(message.find("neither an x86 kernel image"), std::string::npos) << message;
}

TEST(KallsymsTest, HiddenAddressesAreExplained) {
    const auto message =
        failure_of([] { Kallsyms::parse("0000000000000000 T _text\n", "/proc/kallsyms"); });
    EXPECT_NE(message.find("run as root"), std::string::npos) << message;
    EXPECT_FALSE(failure_of([] { Kallsyms::parse("rubbish\n", "file"); }).empty());
}

TEST(KallsymsTest, PositionsAndModules) {
    const auto symbols = Kallsyms::parse(
        "ffffffff81000300 t twice\r\n"
        "ffffffff81000100 t twice\n"
        "ffffffff81000200 t once\n"
        "ffffffffc0000000 t once\t[some_module]\n",
        "test");
    EXPECT_EQ(symbols.position("once", 0xffffffff81000200), 0U);
    EXPECT_EQ(symbols.position("twice", 0xffffffff81000100), 1U);
    EXPECT_EQ(symbols.position("twice", 0xffffffff81000300), 2U);
    EXPECT_EQ(symbols.position("twice", 0xffffffff81000301), std::nullopt);
    EXPECT_EQ(symbols.unique("once"), 0xffffffff81000200);
    EXPECT_EQ(symbols.unique("twice"), std::nullopt);
    EXPECT_EQ(symbols.describe(0xffffffff81000210), "once+0x10");
}

}  // namespace
}  // namespace fairswitch
