// The overlay against libprotobuf: random records must read the same both ways, however a writer
// that isn't the kernel encodes them.
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/log_files.h"
#include "tests/unit/random_records.h"
#include "tests/unit/records.h"

namespace fairswitch {
namespace {

using namespace testing;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

#define FSW_EXPECT_u7(name) EXPECT_EQ(a.name, b.name) << #name;
#define FSW_EXPECT_f32(name) EXPECT_EQ(a.name, b.name) << #name;
#define FSW_EXPECT_s32(name) EXPECT_EQ(a.name, b.name) << #name;
#define FSW_EXPECT_f64(name) EXPECT_EQ(a.name, b.name) << #name;
#define FSW_EXPECT_s64(name) EXPECT_EQ(a.name, b.name) << #name;
#define FSW_EXPECT_comm(name) EXPECT_EQ(a.name, b.name) << #name;
#define FSW_EXPECT_stamp(name) expect_same(a.name, b.name);
#define FSW_EXPECT_OPTIONAL(name)                               \
    ASSERT_EQ(a.name.has_value(), b.name.has_value()) << #name; \
    if (a.name) expect_same(*a.name, *b.name);
#define FSW_EXPECT_entity(name) FSW_EXPECT_OPTIONAL(name)
#define FSW_EXPECT_queue(name) FSW_EXPECT_OPTIONAL(name)
#define FSW_EXPECT_timer(name) FSW_EXPECT_OPTIONAL(name)
#define FSW_EXPECT(number, type, name) FSW_EXPECT_##type(name)
#define FSW_EXPECT_MESSAGE(Model, MESSAGE)                           \
    void expect_same(const model::Model& a, const model::Model& b) { \
        FSW_##MESSAGE##_FIELDS(FSW_EXPECT)                           \
    }
FSW_EXPECT_MESSAGE(Stamp, STAMP)
FSW_EXPECT_MESSAGE(Entity, ENTITY)
FSW_EXPECT_MESSAGE(Queue, QUEUE)
FSW_EXPECT_MESSAGE(Timer, TIMER)
FSW_EXPECT_MESSAGE(Decision, DECISION)
FSW_EXPECT_MESSAGE(Brief, BRIEF)
FSW_EXPECT_MESSAGE(Requeue, REQUEUE)
FSW_EXPECT_MESSAGE(Delay, DELAY)
FSW_EXPECT_MESSAGE(Wake, WAKE)
FSW_EXPECT_MESSAGE(Switch, SWITCH)
FSW_EXPECT_MESSAGE(Task, TASK)
FSW_EXPECT_MESSAGE(Swap, SWAP)
FSW_EXPECT_MESSAGE(Lost, LOST)
FSW_EXPECT_MESSAGE(Marker, MARKER)

void expect_same(const model::Record& a, const model::Record& b) {
    ASSERT_EQ(a.index(), b.index());
    std::visit(
        [&](const auto& kind) {
            using Kind = std::decay_t<decltype(kind)>;
            if constexpr (!std::is_same_v<Kind, model::Sample>)
                expect_same(kind, *std::get_if<Kind>(&b));
        },
        a);
}

// The same message as another writer could put it: shortest lengths, fields in any order, and
// fields of a later schema. `type` null: contents that no schema knows are kept as they are.
std::string reencoded(const std::string& bytes, const Descriptor* type, Random& random) {
    UnknownFieldSet fields;
    EXPECT_TRUE(fields.ParseFromString(bytes));
    std::vector<int> order;
    for (int i = 0; i < fields.field_count(); ++i) order.push_back(i);
    std::shuffle(order.begin(), order.end(), random);
    UnknownFieldSet out;
    for (const int i : order) {
        const UnknownField& field = fields.field(i);
        const FieldDescriptor* known = type->FindFieldByNumber(field.number());
        if (random() % 4 == 0) out.AddVarint(1000 + static_cast<int>(random() % 1000), random());
        if (field.number() == 15 && random() % 2 == 0) continue;  // filling
        if (known != nullptr && known->message_type() != nullptr) {
            out.AddLengthDelimited(
                field.number(), reencoded(field.length_delimited(), known->message_type(), random));
        } else {
            out.AddField(field);
        }
    }
    std::string result;
    EXPECT_TRUE(out.SerializeToString(&result));
    return result;
}

std::string with_length(const std::string& message) {
    std::string result;
    std::size_t length = message.size();
    for (; length >= 0x80; length >>= 7) result.push_back(static_cast<char>(length | 0x80));
    result.push_back(static_cast<char>(length));
    return result + message;
}

class RandomRecords : public ::testing::Test {
  protected:
    // Seeds are printed, so that a failure can be had again.
    RandomRecords()
        : seed_(std::random_device()()), random_(seed_), trace_(__FILE__, __LINE__, seed_) {}

    const unsigned seed_;
    Random random_;
    ::testing::ScopedTrace trace_;
};

TEST_F(RandomRecords, ReadTheSameByOverlayAndByLibprotobuf) {
    for (int round = 0; round < 500 && !HasFailure(); ++round) {
        for (const std::string& bytes : random_records(random_)) {
            model::Record fast, slow;
            ASSERT_TRUE(overlay(as_bytes(bytes), fast));
            Record message;
            ASSERT_TRUE(message.ParseFromString(bytes.substr(2)));
            ASSERT_TRUE(from_message(message, slow));
            expect_same(fast, slow);
        }
    }
}

TEST_F(RandomRecords, ReadTheSameFromAForeignWriter) {
    for (int round = 0; round < 200 && !HasFailure(); ++round) {
        const std::vector<std::string> records = random_records(random_);
        std::string own = header_bytes(), foreign = header_bytes();
        for (const std::string& bytes : records) {
            own += bytes;
            foreign += with_length(reencoded(bytes.substr(2), Record::descriptor(), random_));
        }
        LogReader own_reader = reader_of(own + end_bytes());
        LogReader foreign_reader = reader_of(foreign + end_bytes());
        const auto expected = read_all(own_reader), found = read_all(foreign_reader);
        EXPECT_EQ(own_reader.fallbacks(), 0u);
        EXPECT_EQ(foreign_reader.fallbacks(), records.size());
        EXPECT_EQ(foreign_reader.validity().count(Badness::kForeignLayout), records.size());
        EXPECT_EQ(foreign_reader.validity().count(Badness::kUndecodable), 0u);
        ASSERT_EQ(found.size(), records.size());
        ASSERT_EQ(expected.size(), records.size());
        for (std::size_t i = 0; i < found.size(); ++i) expect_same(expected[i], found[i]);
    }
}

// The mask covers every tag and length: whichever is changed, the overlay refuses. A value may
// change at will, but for the top bit of a one-byte varint.
TEST(Overlay, RefusesEveryChangedTagAndLength) {
    const std::string bytes = bytes_of(testing::record_template<fsw_decision_record>());
    std::size_t refused = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        if (bytes[at] == 0) continue;  // a value: in a template only tags and lengths aren't 0
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ 0x04);
        model::Record record;
        EXPECT_FALSE(overlay(as_bytes(changed), record)) << "byte " << at;
        ++refused;
    }
    // The frame's 5 bytes, the filling's 2, Decision's 13 tags and 5 lengths, the stamp's 6 tags,
    // 9 of each of three entities, the queue's 8.
    EXPECT_EQ(refused, 66u);
    std::string wide = bytes;
    wide[offsetof(fsw_decision_record, body) + offsetof(fsw_decision, verdict)] = '\x81';
    model::Record record;
    EXPECT_FALSE(overlay(as_bytes(wide), record));
    EXPECT_FALSE(overlay(as_bytes(bytes.substr(8)), record));
    EXPECT_FALSE(overlay({}, record));
}

}  // namespace
}  // namespace fairswitch
