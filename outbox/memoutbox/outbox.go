package memoutbox

import (
	"sync"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

var _ outbox.Enqueuer = (*Outbox)(nil)

// Outbox is an outbox in memory. It is safe for concurrent use.
type Outbox struct {
	cfg      Config
	preparer outbox.Preparer
	id       string // part of positions that a sink keeps, to recognise those of other outboxes

	// mu guards everything below, and the state of every Tx and session.
	mu sync.Mutex
	// seq is the last number that was drawn. Enqueue draws the numbers, so their order is not
	// that of the commits.
	seq int64
	// log holds what has committed, in the order of the commits; the rows of one
	// transaction are neighbours. A snapshot is therefore a length of log, and a
	// window the stretch between two of them.
	log []outbox.Record
	// later holds committed messages that are not due yet. Their Seq comes from laterNo, the last
	// number drawn for them.
	later   []outbox.Record
	laterNo int64
	locks   keyLocks
	groups  map[slotName]*group
	maxLag  map[string]time.Duration // by group
	paused  map[string][]string      // by group
	notes   map[string]string        // the notes of policies, by group
	shares  map[string]*sharing
	former  map[string]string            // former names of groups, and their present ones
	held    map[string]*heldqueue.Memory // by group
	audit   heldqueue.AuditLog
	wakes   map[chan struct{}]struct{}
}

// New returns an empty outbox. It returns an error that wraps outbox.ErrInvalidConfig if cfg is
// invalid.
func New(cfg Config) (*Outbox, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	id, err := outbox.NewID()
	if err != nil {
		return nil, err
	}
	return &Outbox{
		cfg:      cfg,
		id:       id,
		preparer: outbox.Preparer{MaxPayloadBytes: cfg.MaxPayloadBytes, Injector: cfg.Injector},
		locks:    make(keyLocks),
		groups:   make(map[slotName]*group),
		maxLag:   make(map[string]time.Duration),
		paused:   make(map[string][]string),
		notes:    make(map[string]string),
		shares:   make(map[string]*sharing),
		former:   make(map[string]string),
		held:     make(map[string]*heldqueue.Memory),
		wakes:    make(map[chan struct{}]struct{}),
	}, nil
}

// Committed returns a copy of all committed records in the order in which their
// transactions committed. That is not the order of Seq where transactions
// overlapped.
func (ob *Outbox) Committed() []outbox.Record {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	ob.promote()
	out := make([]outbox.Record, len(ob.log))
	for i := range ob.log {
		out[i] = ob.log[i]
		out[i].Message = clone(&ob.log[i].Message)
	}
	return out
}

// Messages returns a copy of all committed messages, ordered as by Committed.
func (ob *Outbox) Messages() []outbox.Message {
	records := ob.Committed()
	out := make([]outbox.Message, len(records))
	for i := range records {
		out[i] = records[i].Message
	}
	return out
}
