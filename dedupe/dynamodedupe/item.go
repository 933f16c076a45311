package dynamodedupe

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/internal/records"
)

// item is a DynamoDB item.
type item = map[string]types.AttributeValue

// Attributes of an item. All texts are bytes: DynamoDB's strings are UTF-8, and ids are not.
const (
	attrKey         = "pk" // the length of the consumer's name, ":", the name and the id
	attrRevision    = "rv" // differs after every write
	attrState       = "st"
	attrToken       = "tk"
	attrAttempt     = "at"
	attrFingerprint = "fp"
	attrLeaseUntil  = "lu" // microseconds since 1970, as forget-at
	attrForgetAt    = "fa"
	attrLease       = "ls" // how long the lease was when it was written, in microseconds
	attrResult      = "rs"
	// attrExpires is forget-at in seconds, for DynamoDB's own deletion, which takes days.
	// Nothing depends on it.
	attrExpires = "ttl"
)

const (
	stateClaimed  = 1
	stateReleased = 2
	stateDone     = 3
)

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func bytes(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func numberOf(i item, name string) int64 {
	n, _ := i[name].(*types.AttributeValueMemberN)
	if n == nil {
		return 0
	}
	v, _ := strconv.ParseInt(n.Value, 10, 64) // the store itself wrote it
	return v
}

func bytesOf(i item, name string) []byte {
	b, _ := i[name].(*types.AttributeValueMemberB)
	if b == nil {
		return nil
	}
	return b.Value
}

func revisionOf(i item) string { return string(bytesOf(i, attrRevision)) }

func keyOf(k dedupe.Key) item {
	return item{attrKey: bytes([]byte(strconv.Itoa(len(k.Consumer)) + ":" + k.Consumer + k.ID))}
}

// recordOf returns the record of an item, and for how long its lease was given.
func recordOf(i item) (r records.Record, lease time.Duration) {
	if i == nil {
		return records.Record{}, 0
	}
	state := numberOf(i, attrState)
	return records.Record{
		Known: true, Done: state == stateDone, Released: state == stateReleased,
		Token: string(bytesOf(i, attrToken)), Fingerprint: string(bytesOf(i, attrFingerprint)),
		Attempt:    int(numberOf(i, attrAttempt)),
		LeaseUntil: time.UnixMicro(numberOf(i, attrLeaseUntil)), ForgetAt: time.UnixMicro(numberOf(i, attrForgetAt)),
		Result: bytesOf(i, attrResult),
	}, time.Duration(numberOf(i, attrLease)) * time.Microsecond
}

// itemOf returns the item of a record.
func itemOf(k dedupe.Key, r *records.Record, lease time.Duration, revision string) item {
	state := int64(stateClaimed)
	switch {
	case r.Done:
		state = stateDone
	case r.Released:
		state = stateReleased
	}
	i := keyOf(k)
	i[attrRevision], i[attrState], i[attrToken] = bytes([]byte(revision)), number(state), bytes([]byte(r.Token))
	i[attrFingerprint], i[attrAttempt] = bytes([]byte(r.Fingerprint)), number(int64(r.Attempt))
	i[attrLeaseUntil], i[attrForgetAt] = number(r.LeaseUntil.UnixMicro()), number(r.ForgetAt.UnixMicro())
	i[attrLease], i[attrExpires] = number(lease.Microseconds()), number(r.ForgetAt.Unix()+1)
	if r.Result != nil {
		i[attrResult] = bytes(r.Result)
	}
	return i
}
