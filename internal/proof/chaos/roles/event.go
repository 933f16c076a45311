package roles

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox"
)

// Kinds of events.
const (
	kindTransfer = "transfer"
	// kindNotice is for the notifier.
	kindNotice = "notice"
	// kindPoison fails in every consumer.
	kindPoison = "poison"
	// kindHuge is refused by Kafka.
	kindHuge = "huge"
)

const (
	// MaxMessageBytes is the maximum size of messages in the bank's topics. hugeBytes is more.
	MaxMessageBytes = 24 << 10
	hugeBytes       = 28 << 10
	// maxAmount bounds the amount of a transfer.
	maxAmount = 100
)

// event is the bank's event about a transfer.
type event struct {
	ID     string `json:"id" avro:"id"`
	Kind   string `json:"kind" avro:"kind"`
	From   string `json:"from" avro:"from"`
	To     string `json:"to,omitempty" avro:"to"`
	Amount int64  `json:"amount,omitempty" avro:"amount"`
	At     int64  `json:"at" avro:"at"` // microseconds since 1970
	Pad    string `json:"pad,omitempty" avro:"pad"`
	// Topic is the event's topic if it is neither a transfer nor a notice.
	Topic string `json:"topic,omitempty" avro:"topic"`

	headers string // headers as they are written with plain SQL, any JSON
}

// odd selects which of the unusual events a bank sends.
type odd struct {
	// noPoison is set for inboxes that cannot park messages.
	noPoison bool
	// seldomHuge is set for relays with a tail: they do not follow it while a record is set aside.
	seldomHuge bool
}

func (s Settings) odd() odd { return odd{noPoison: s.Store == DynamoDB, seldomHuge: s.Tail} }

// draw makes up an event. Most are transfers, one in ten is a notice, a few are poison or too large. Those
// two kinds have keys of their own. For a few seconds they get the same key, so that several queue behind
// each other.
func draw(r *rand.Rand, accounts int, o odd) (event, error) {
	id, err := outbox.NewID()
	if err != nil {
		return event{}, fmt.Errorf("make an id: %w", err)
	}
	now := time.Now()
	from := r.IntN(accounts)
	e := event{ID: id, Kind: kindTransfer, From: Account(from), At: now.UnixMicro()}
	switch n := r.IntN(500); {
	case n == 0 && !o.noPoison:
		e.Kind, e.From = kindPoison, "poison-"+strconv.FormatInt(now.Unix()/5, 36)
	case n == 1 && (!o.seldomHuge || r.IntN(20) == 0):
		e.Kind, e.From, e.Pad = kindHuge, "huge-"+strconv.FormatInt(now.Unix()/5, 36), strings.Repeat("x", hugeBytes)
	case n < 50:
		e.Kind = kindNotice
	default:
		e.To = Account((from + 1 + r.IntN(accounts-1)) % accounts)
		e.Amount = 1 + r.Int64N(maxAmount)
	}
	return e, nil
}

// topic returns the event's topic.
func (e event) topic() string {
	switch {
	case e.Topic != "":
		return e.Topic
	case e.Kind == kindNotice:
		return TopicNotices
	default:
		return TopicTransfers
	}
}

// opensAccount reports whether the event's transaction creates its account.
func (e event) opensAccount() bool { return e.To == "" && e.Kind != kindNotice }

// message returns the event in the form that the outbox takes.
func (e event) message() (outbox.Message, error) {
	payload, err := json.Marshal(e)
	if err != nil {
		return outbox.Message{}, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	return outbox.Message{ID: e.ID, Topic: e.topic(), Key: e.From, Type: e.Kind, Payload: payload}, nil
}

// Digest returns the fingerprint by which histories identify a payload.
func Digest(payload []byte) string {
	h := fnv.New64a()
	_, _ = h.Write(payload)
	return strconv.FormatUint(h.Sum64(), 16)
}
