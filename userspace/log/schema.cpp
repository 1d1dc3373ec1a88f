#include "userspace/log/schema.h"

#include <google/protobuf/descriptor.pb.h>

#include "proto/record.pb.h"

namespace fairswitch {
namespace {

// Imports first, as a FileDescriptorSet wants it.
void add(const google::protobuf::FileDescriptor& file, google::protobuf::FileDescriptorSet& set) {
    for (const auto& known : set.file()) {
        if (known.name() == file.name()) return;
    }
    for (int i = 0; i < file.dependency_count(); ++i) add(*file.dependency(i), set);
    file.CopyTo(set.add_file());
}

}  // namespace

std::string log_schema() {
    google::protobuf::FileDescriptorSet set;
    add(*Record::descriptor()->file(), set);
    return set.SerializeAsString();
}

}  // namespace fairswitch
