// The layout of module/uapi/fairswitch/record.h against the schema of proto/record.proto: records
// made from the templates are decoded by the generated classes and compared field by field.
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include "proto/record.pb.h"
#include "tests/unit/records.h"

namespace fairswitch {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

const FieldDescriptor* field_of(const Message& message, int number, const char* name) {
    const FieldDescriptor* field = message.GetDescriptor()->FindFieldByNumber(number);
    EXPECT_NE(field, nullptr) << message.GetTypeName() << " has no field " << number;
    if (field == nullptr) return nullptr;
    EXPECT_EQ(field->name(), name) << message.GetTypeName() << " field " << number;
    EXPECT_TRUE(message.GetReflection()->HasField(message, field)) << name;
    return field;
}

std::uint64_t unsigned_value(const Message& message, const FieldDescriptor* field) {
    const Reflection& reflection = *message.GetReflection();
    switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_UINT32:
            return reflection.GetUInt32(message, field);
        case FieldDescriptor::CPPTYPE_UINT64:
            return reflection.GetUInt64(message, field);
        case FieldDescriptor::CPPTYPE_INT32:
            return static_cast<std::uint64_t>(reflection.GetInt32(message, field));
        case FieldDescriptor::CPPTYPE_INT64:
            return static_cast<std::uint64_t>(reflection.GetInt64(message, field));
        case FieldDescriptor::CPPTYPE_ENUM:
            return static_cast<std::uint64_t>(reflection.GetEnumValue(message, field));
        default:
            ADD_FAILURE() << field->full_name() << " is no scalar";
            return 0;
    }
}

void expect_scalar(const Message& message, int number, const char* name, std::int64_t value,
                   std::initializer_list<FieldDescriptor::Type> types) {
    const FieldDescriptor* field = field_of(message, number, name);
    ASSERT_NE(field, nullptr);
    EXPECT_NE(std::find(types.begin(), types.end(), field->type()), types.end())
        << field->full_name() << " has another wire type than the struct: " << field->type_name();
    EXPECT_EQ(unsigned_value(message, field), static_cast<std::uint64_t>(value))
        << field->full_name();
}

const Message& submessage(const Message& message, int number, const char* name) {
    const FieldDescriptor* field = field_of(message, number, name);
    return message.GetReflection()->GetMessage(message, field);
}

#define FSW_SAME_u7(number, name)                    \
    expect_scalar(message, number, #name, body.name, \
                  {FieldDescriptor::TYPE_UINT32, FieldDescriptor::TYPE_ENUM});
#define FSW_SAME_f32(number, name) \
    expect_scalar(message, number, #name, body.name, {FieldDescriptor::TYPE_FIXED32});
#define FSW_SAME_s32(number, name) \
    expect_scalar(message, number, #name, body.name, {FieldDescriptor::TYPE_SFIXED32});
#define FSW_SAME_f64(number, name)                                              \
    expect_scalar(message, number, #name, static_cast<std::int64_t>(body.name), \
                  {FieldDescriptor::TYPE_FIXED64});
#define FSW_SAME_s64(number, name) \
    expect_scalar(message, number, #name, body.name, {FieldDescriptor::TYPE_SFIXED64});
#define FSW_SAME_comm(number, name)                                                          \
    EXPECT_EQ(message.GetReflection()->GetString(message, field_of(message, number, #name)), \
              std::string(body.name, FSW_COMM_BYTES));
#define FSW_SAME_SUB(number, name) expect_same(body.name, submessage(message, number, #name));
#define FSW_SAME_stamp(number, name) FSW_SAME_SUB(number, name)
#define FSW_SAME_entity(number, name) FSW_SAME_SUB(number, name)
#define FSW_SAME_queue(number, name) FSW_SAME_SUB(number, name)
#define FSW_SAME_timer(number, name) FSW_SAME_SUB(number, name)
#define FSW_SAME(number, type, name) \
    ++fields;                        \
    FSW_SAME_##type(number, name)
#define FSW_SAME_MESSAGE(message_name, MESSAGE)                                                    \
    void expect_same(const fsw_##message_name& body, const Message& message) {                     \
        int fields = 0;                                                                            \
        FSW_##MESSAGE##_FIELDS(FSW_SAME) EXPECT_EQ(fields, message.GetDescriptor()->field_count()) \
            << message.GetTypeName() << " has fields that the struct hasn't";                      \
        EXPECT_TRUE(message.GetReflection()->GetUnknownFields(message).empty());                   \
    }
FSW_SAME_MESSAGE(stamp, STAMP)
FSW_SAME_MESSAGE(entity, ENTITY)
FSW_SAME_MESSAGE(queue, QUEUE)
FSW_SAME_MESSAGE(timer, TIMER)
#define FSW_SAME_KIND(number, message, MESSAGE) FSW_SAME_MESSAGE(message, MESSAGE)
FSW_KINDS(FSW_SAME_KIND)
#undef FSW_SAME_KIND

// The message behind the length prefix, which must cover the rest of the record.
Record decoded(const std::string& bytes) {
    const Framing frame = framing(testing::as_bytes(bytes));
    EXPECT_EQ(frame.prefix, 2);
    EXPECT_EQ(frame.prefix + frame.length, bytes.size());
    Record record;
    EXPECT_TRUE(record.ParseFromString(bytes.substr(2)));
    return record;
}

template <typename Packed>
void expect_kind_as_decoded(int number, const char* name) {
    SCOPED_TRACE(name);
    const auto packed = testing::filled_record<Packed>();
    const Record record = decoded(testing::bytes_of(packed));
    EXPECT_EQ(record.kind_case(), number);
    EXPECT_EQ(record.void_().size(), sizeof(packed.fill));
    expect_same(packed.body, submessage(record, number, name));
}

TEST(Layout, EveryFieldOfEveryKindDecodes) {
#define FSW_CHECK(number, message, MESSAGE) \
    expect_kind_as_decoded<fsw_##message##_record>(number, #message);
    FSW_KINDS(FSW_CHECK)
#undef FSW_CHECK
}

TEST(Layout, RecordsAreMultiplesOfEightBytes) {
#define FSW_CHECK(number, message, MESSAGE)            \
    EXPECT_EQ(sizeof(fsw_##message##_record) % 8, 0u); \
    EXPECT_LT(sizeof(fsw_##message), 1u << 14);
    FSW_KINDS(FSW_CHECK)
#undef FSW_CHECK
}

// A nested message's length must fit the one byte that its member has.
TEST(Layout, NestedMessagesAreShort) {
    EXPECT_LT(sizeof(fsw_stamp), 128u);
    EXPECT_LT(sizeof(fsw_entity), 128u);
    EXPECT_LT(sizeof(fsw_queue), 128u);
    EXPECT_LT(sizeof(fsw_timer), 128u);
}

// The bytes are a contract with logs that exist: a change here needs another FSW_ABI.
TEST(Layout, SizesAndOffsets) {
    EXPECT_EQ(sizeof(fsw_decision_record), 360u);
    EXPECT_EQ(sizeof(fsw_brief_record), 72u);
    EXPECT_EQ(sizeof(fsw_requeue_record), 176u);
    EXPECT_EQ(sizeof(fsw_delay_record), 160u);
    EXPECT_EQ(sizeof(fsw_wake_record), 112u);
    EXPECT_EQ(sizeof(fsw_switch_record), 72u);
    EXPECT_EQ(sizeof(fsw_task_record), 120u);
    EXPECT_EQ(sizeof(fsw_swap_record), 88u);
    EXPECT_EQ(sizeof(fsw_lost_record), 112u);
    EXPECT_EQ(sizeof(fsw_marker_record), 64u);
    EXPECT_EQ(offsetof(fsw_marker_record, body), 5u);
    EXPECT_EQ(offsetof(fsw_stamp, time_ns), 1u);
    EXPECT_EQ(offsetof(fsw_stamp, seq), 10u);
    EXPECT_EQ(offsetof(fsw_stamp, cpu), 19u);
    EXPECT_EQ(offsetof(fsw_decision, wakee), 73u);
    EXPECT_EQ(offsetof(fsw_decision, curr), 148u);
    EXPECT_EQ(offsetof(fsw_decision, picked), 223u);
    EXPECT_EQ(offsetof(fsw_decision, queue), 298u);
}

// All kinds have frame and stamp at the same place: code that stamps a record relies on it.
TEST(Layout, StampStandsAlikeInAllKinds) {
#define FSW_CHECK(number, message, MESSAGE)                            \
    EXPECT_EQ(offsetof(fsw_##message##_record, body), 5u) << #message; \
    EXPECT_EQ(offsetof(fsw_##message, stamp), 2u) << #message;
    FSW_KINDS(FSW_CHECK)
#undef FSW_CHECK
}

// An absent submessage keeps its bytes under the tag `void`.
TEST(Layout, AbsentSubmessagesDecodeAsAbsent) {
    auto decision = testing::filled_record<fsw_decision_record>();
    decision.body.wakee_tag = decision.body.curr_tag = FSW_TAG_VOID;
    decision.body.picked_tag = decision.body.queue_tag = FSW_TAG_VOID;
    Record record;
    // Each message with absent parts has field 15 unknown to its class; it must be skipped.
    ASSERT_TRUE(record.ParseFromString(testing::bytes_of(decision).substr(2)));
    EXPECT_FALSE(record.decision().has_wakee());
    EXPECT_FALSE(record.decision().has_curr());
    EXPECT_FALSE(record.decision().has_picked());
    EXPECT_FALSE(record.decision().has_queue());
    EXPECT_EQ(record.decision().curr_pid(), decision.body.curr_pid);
    EXPECT_EQ(record.decision().stamp().seq(), decision.body.stamp.seq);

    auto wake = testing::filled_record<fsw_wake_record>();
    wake.body.timer_tag = FSW_TAG_VOID;
    ASSERT_TRUE(record.ParseFromString(testing::bytes_of(wake).substr(2)));
    EXPECT_FALSE(record.wake().has_timer());
    EXPECT_EQ(record.wake().timer_slack_ns(), wake.body.timer_slack_ns);
}

// Enumerations stand in both files; the values that the kernel writes must have the same names.
TEST(Layout, EnumsAgree) {
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_SAME_ENTITY)), "PATH_SAME_ENTITY");
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_THROTTLED)), "PATH_THROTTLED");
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_RESCHED_PENDING)), "PATH_RESCHED_PENDING");
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_PREEMPTION_OFF)), "PATH_PREEMPTION_OFF");
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_IDLE_PREEMPT)), "PATH_IDLE_PREEMPT");
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_IDLE_KEEP)), "PATH_IDLE_KEEP");
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_POLICY_KEEP)), "PATH_POLICY_KEEP");
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_PICK_PREEMPT)), "PATH_PICK_PREEMPT");
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_PICK_KEEP)), "PATH_PICK_KEEP");
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_CANCEL_PREEMPT)), "PATH_CANCEL_PREEMPT");
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_OTHER_CLASS)), "PATH_OTHER_CLASS");
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_DELAYED_KEEP)), "PATH_DELAYED_KEEP");
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_FORK_KEEP)), "PATH_FORK_KEEP");
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_SYNC_KEEP)), "PATH_SYNC_KEEP");
    EXPECT_EQ(Path_Name(static_cast<Path>(FSW_PATH_SYNC_PREEMPT)), "PATH_SYNC_PREEMPT");
    EXPECT_EQ(Path_MAX, static_cast<int>(FSW_PATH_SYNC_PREEMPT));
    EXPECT_EQ(Verdict_Name(static_cast<Verdict>(FSW_VERDICT_PREEMPT)), "VERDICT_PREEMPT");
    EXPECT_EQ(Verdict_MAX, static_cast<int>(FSW_VERDICT_PREEMPT));
    EXPECT_EQ(Resched_Name(static_cast<Resched>(FSW_RESCHED_NOW_IPI)), "RESCHED_NOW_IPI");
    EXPECT_EQ(Resched_MAX, static_cast<int>(FSW_RESCHED_NOW_IPI));
    EXPECT_EQ(DelayVerdict_Name(static_cast<DelayVerdict>(FSW_DELAY_FINISHED)), "DELAY_FINISHED");
    EXPECT_EQ(DelayVerdict_MAX, static_cast<int>(FSW_DELAY_FINISHED));
    EXPECT_EQ(WakeSource_Name(static_cast<WakeSource>(FSW_WAKE_OTHER)), "WAKE_OTHER");
    EXPECT_EQ(WakeSource_MAX, static_cast<int>(FSW_WAKE_OTHER));
    EXPECT_EQ(static_cast<int>(MARKER_TRIGGER), static_cast<int>(FSW_MARKER_TRIGGER));
    EXPECT_EQ(SwapReason_Name(static_cast<SwapReason>(FSW_SWAP_UNPATCH)), "SWAP_UNPATCH");
    EXPECT_EQ(SwapReason_MAX, static_cast<int>(FSW_SWAP_UNPATCH));
}

}  // namespace
}  // namespace fairswitch
