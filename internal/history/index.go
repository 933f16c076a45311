package history

// index is the condensed history: a few dozen bytes for each event, record and effect, in the order
// in which they were read.
type index struct {
	ids    map[digest]uint32
	events []event
	keys   *names
	topics *names
	books  *names // consumers; "" is the producer

	records  []record
	effects  []effect
	balances []balance
	faults   []Line
	rewinds  []rewind

	// ended has the dumps that have an end.
	ended map[Type]bool
	// subscriptions are the ends of the dumps of effects.
	subscriptions   []Line
	intents, starts int
	figures         Figures
	causes          bool // whether records name causes, or effects children

	// open counts the rows of dumps in the file that have no end yet.
	open map[Type]int64
}

// mark is a fact about an event.
type mark uint16

const (
	intended mark = 1 << iota
	toldCommitted
	toldAborted
	toldUnknown
	inLedger
	inOutbox
	inRelay // sent by a relay
	acked
	waiting // at the producer's side
	published
	child // produced by an effect
	caused
)

// event holds what is known about an id.
type event struct {
	at     int64 // time of the intent
	sent   int64 // when a relay last sent it, or had it acknowledged
	toldAt int64 // when the producer learned its outcome, or that it is unknown
	// consumedAt is when a consumer last had it delivered, or reported its effect.
	consumedAt int64

	version int64
	amount  int64
	digest  uint64
	key, to uint32
	topic   uint32
	marks   mark

	delivered consumers // the consumers that had it delivered
	told      consumers // the consumers that have reported an effect
	keeps     consumers // the consumers that keep it for operators
	had       consumers // the consumers that have a row of its effect
	parent    uint32    // the event whose effect has produced it
}

func (e *event) is(m mark) bool { return e.marks&m != 0 }

// consumers is a set of consumers.
type consumers uint16

// maxConsumers is how many a history can have.
const maxConsumers = 16

func (c consumers) has(book uint32) bool { return c&(1<<book) != 0 }

// record is a record of a topic.
type record struct {
	offset    int64
	at        int64
	digest    uint64
	event     uint32
	cause     uint32 // an event; the record's own if there is none
	topic     uint32
	partition int32
	key       uint32
}

// effect is a row of the table of effects.
type effect struct {
	row     int64
	version int64
	amount  int64
	event   uint32
	child   uint32 // an event; the effect's own if there is none
	book    uint32
	key, to uint32
}

// balance is an account at the end.
type balance struct {
	opening, amount int64
	book, key       uint32
}

func newIndex() *index {
	return &index{
		ids: map[digest]uint32{}, keys: newNames(), topics: newNames(), books: newNames(),
		ended: map[Type]bool{}, open: map[Type]int64{},
	}
}

// event returns the number of the id's event, a new one if need be.
func (x *index) event(id string) uint32 {
	d := digestOf(id)
	if i, ok := x.ids[d]; ok {
		return i
	}
	i := uint32(len(x.events)) //nolint:gosec // far fewer than 2^32
	x.events = append(x.events, event{})
	x.ids[d] = i
	return i
}
