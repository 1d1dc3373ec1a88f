#!/usr/bin/python3
"""Prints a decision log, record by record, with nothing of this project's code: the schema comes
from the log's own header, and Google's protobuf package decodes. The unit tests compare what it
prints with what the C++ reader sees.

    tests/decode_log.py run.fsl

A line each: the kind, then its fields as name=value, submessages as name{...}; an absent scalar
reads 0 and an absent submessage is left out.
"""

import subprocess
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
HEADER_OF_RECORD = 1
SCHEMA_OF_HEADER = 16


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def messages(data):
    """The messages of a stream that puts each one's length before it."""
    at = 0
    while at < len(data):
        length, at = read_varint(data, at)
        if at + length > len(data):
            sys.exit("the log ends inside a record")
        yield data[at : at + length]
        at += length


def field_bytes(message, wanted):
    """A length-delimited field by its number: all that has to be known before there is a schema."""
    at = 0
    while at < len(message):
        tag, at = read_varint(message, at)
        wire = tag & 7
        if wire == 0:
            _, at = read_varint(message, at)
            continue
        if wire == 2:
            length, at = read_varint(message, at)
        else:
            length = {1: 8, 5: 4}[wire]
        if tag >> 3 == wanted and wire == 2:
            return message[at : at + length]
        at += length
    sys.exit(f"the log's first record has no field {wanted}")


def record_class(schema):
    files = descriptor_pb2.FileDescriptorSet.FromString(schema)
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(
        pool.FindMessageTypeByName("fairswitch.Record")
    )


def text_of(message):
    parts = []
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            if message.HasField(field.name):
                parts.append(f"{field.name}{{{text_of(value)}}}")
        elif field.type == FieldDescriptor.TYPE_BYTES:
            parts.append(f"{field.name}={value.hex()}")
        else:
            parts.append(f"{field.name}={value}")
    return " ".join(parts)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: decode_log.py LOG")
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    if data.startswith(ZSTD_MAGIC):
        data = subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    record_type = None
    for message in messages(data):
        if record_type is None:
            header = field_bytes(message, HEADER_OF_RECORD)
            record_type = record_class(field_bytes(header, SCHEMA_OF_HEADER))
        record = record_type.FromString(message)
        kind = record.WhichOneof("kind")
        if kind not in ("header", "end"):
            print(kind, text_of(getattr(record, kind)))


main()
