"""Confluent's own serializers and deserializers, on events of a shop.

Usage: serdes.py REGISTRY NAMESPACE DESCRIPTOR write URL TOPIC
       serdes.py REGISTRY NAMESPACE DESCRIPTOR read

DESCRIPTOR is that of the Protobuf file, in base64. write enqueues an event in each format by
the function in SQL. read gets a format and a payload in base64 in each line, and prints the
event as JSON.
"""

import base64
import json
import sys

import psycopg
from confluent_kafka.schema_registry import SchemaRegistryClient, record_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.json_format import MessageToDict


def main(registry, namespace, descriptor, command, *args):
    client = SchemaRegistryClient({"url": registry})
    avro = json.dumps({
        "type": "record", "name": "OrderPlaced", "namespace": namespace,
        "fields": [{"name": "id", "type": "string"}, {"name": "total", "type": "long"}],
    })
    schema = json.dumps({
        "title": namespace + ".Note", "type": "object",
        "properties": {"id": {"type": "string"}, "total": {"type": "integer"}},
    })
    pool = descriptor_pool.DescriptorPool()
    file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(descriptor))
    pool.AddSerializedFile(file.SerializeToString())
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName(namespace + ".Order"))
    if command == "write":
        write(client, avro, schema, message, *args)
    else:
        read(client, avro, schema, message)


def write(client, avro, schema, message, url, topic):
    conf = {"subject.name.strategy": record_subject_name_strategy}
    context = SerializationContext(topic, MessageField.VALUE)
    event = {"id": "a", "total": 7}
    payloads = {
        "avro": AvroSerializer(client, avro, conf=conf)(event, context),
        "json": JSONSerializer(schema, client, conf=conf)(event, context),
        "proto": ProtobufSerializer(message, client, conf=conf)(message(**event), context),
    }
    with psycopg.connect(url) as conn:
        for format, payload in payloads.items():
            conn.execute("SELECT leat.outbox_enqueue(%s, %s::bytea, type => %s)", (topic, payload, format))


def read(client, avro, schema, message):
    context = SerializationContext("orders", MessageField.VALUE)
    proto = ProtobufDeserializer(message, conf={"use.deprecated.format": False})
    readers = {
        "avro": AvroDeserializer(client, avro),
        "json": JSONDeserializer(schema, schema_registry_client=client),
        "proto": lambda payload, context: MessageToDict(proto(payload, context)),
    }
    for line in sys.stdin:
        format, payload = line.split()
        print(json.dumps(readers[format](base64.b64decode(payload), context)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
