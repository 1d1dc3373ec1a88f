// The kernel's tables of code addresses in an object that objtool hasn't seen yet.
//
// The compiler and the assembler put one entry per place into shared sections (__jump_table for
// static keys, __bug_table for WARN, ...). An entry belongs to the function that its first field
// points to; the graft takes only the entries of the functions that it takes.
#pragma once

#include <string>
#include <vector>

#include "userspace/graft/elf_object.h"

namespace fairswitch {

struct CodeTableEntry {
    size_t table;     // section that holds the entry
    uint64_t offset;  // in the table
    uint64_t size;
    size_t code_section;  // section that the first field points into
    uint64_t code_offset;
    std::vector<Relocation> relocations;  // of the entry, offsets relative to it
};

// Tables that entries are taken from; others are refused if they refer to code that is taken.
bool is_code_table(const std::string& section_name);
// Entries of every table, in file order.
std::vector<CodeTableEntry> read_code_tables(const Object& object, const std::string& origin);

}  // namespace fairswitch
