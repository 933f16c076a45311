package dynamooutbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// item is a DynamoDB item.
type item = map[string]types.AttributeValue

// The keys of the table. Under a partition there are, by sk:
//
//	M#<bucket>       pending messages, by number
//	C#<topic>\0<key> the number that was given to the key last; S#<sum> if that is too long
//	L                the lease
//	O the topics that are out, as the leader sees them
//	P                the note of what relays do with records that cannot be delivered
//	H#<group>        held and dead records by number; 0 is the version of all of them
//	A                the audit, by number
//	B                the number of buckets
const (
	partition = "pk"
	sorting   = "sk"
)

func text(s string) types.AttributeValue  { return &types.AttributeValueMemberS{Value: s} }
func bytes(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }
func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// textOf returns a text, or any other type that is stored in its place, as a text.
func textOf(i item, name string) string {
	if s, ok := i[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return string(bytesOf(i, name))
}

// bytesOf returns bytes. An item that was written by another program may have a value of another
// type: a text or a number becomes its characters, anything else its JSON. A value that is read
// as empty would be sent as empty.
func bytesOf(i item, name string) []byte {
	switch v := i[name].(type) {
	case nil:
		return nil
	case *types.AttributeValueMemberB:
		return v.Value
	case *types.AttributeValueMemberS:
		return []byte(v.Value)
	case *types.AttributeValueMemberN:
		return []byte(v.Value)
	default:
		text, _ := json.Marshal(plain(v)) // of maps, lists, texts, numbers and booleans
		return text
	}
}

// plain returns a value as encoding/json takes it.
func plain(value types.AttributeValue) any {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return json.Number(v.Value)
	case *types.AttributeValueMemberB:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberSS:
		return v.Value
	case *types.AttributeValueMemberNS:
		return v.Value
	case *types.AttributeValueMemberBS:
		return v.Value
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for n := range list {
			list[n] = plain(v.Value[n])
		}
		return list
	case *types.AttributeValueMemberM:
		object := make(map[string]any, len(v.Value))
		for name := range v.Value {
			object[name] = plain(v.Value[name])
		}
		return object
	default: // null
		return nil
	}
}

func numberOf(i item, name string) int64 {
	n, _ := i[name].(*types.AttributeValueMemberN)
	if n == nil {
		return 0
	}
	v, _ := strconv.ParseInt(n.Value, 10, 64) // what we have written
	return v
}

func at(pk string, sk int64) item {
	return item{partition: text(pk), sorting: number(sk)}
}

func messagesOf(bucket int) string { return "M#" + strconv.Itoa(bucket) }

// messageAt is the key of a pending message.
func messageAt(seq int64) item { return at(messagesOf(bucketOf(seq)), seq) }

// counterAt is the key of a counter. A partition key has at most 2,048 bytes.
func counterAt(key driver.Key) item {
	name := key.Topic + "\x00" + key.Key
	if len(name) > maxNameBytes {
		sum := sha256.Sum256([]byte(name))
		return at("S#"+hex.EncodeToString(sum[:]), 0)
	}
	return at("C#"+name, 0)
}

const maxNameBytes = 1800

func heldPartition(group string) string { return "H#" + group }

func keyOf(m *outbox.Message) driver.Key { return driver.Key{Topic: m.Topic, Key: m.Key} }

// bucketFor returns the bucket of a message, out of n.
func bucketFor(m *outbox.Message, n int) int {
	name := m.Key
	name = cmp.Or(name, m.ID)
	return int(uint64(keyhash.Lock("dynamo", m.Topic, name)) % uint64(n)) //nolint:gosec // a hash
}
