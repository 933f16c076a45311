package dynamooutbox

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// item is what DynamoDB stores.
type item = map[string]types.AttributeValue

// The keys of the table. Under a partition there are, by sk:
//
//	M#<bucket>       pending messages, by number
//	C#<topic>\0<key> the number that was given to the key last; S#<sum> if that is too long
//	L                the lease
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

func textOf(i item, name string) string {
	s, _ := i[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func bytesOf(i item, name string) []byte {
	b, _ := i[name].(*types.AttributeValueMemberB)
	if b == nil {
		return nil
	}
	return b.Value
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

// bucketFor returns the bucket of a message among n.
func bucketFor(m *outbox.Message, n int) int {
	name := m.Key
	if name == "" {
		name = m.ID
	}
	return int(uint64(keyhash.Lock("dynamo", m.Topic, name)) % uint64(n)) //nolint:gosec // a hash
}
