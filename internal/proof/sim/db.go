package sim

import (
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
)

// db is a database with transactions, an outbox, its relays' state, and an inbox.
type db struct {
	w         *World
	lastXID   xid
	ended     xid // the highest transaction that has ended
	open      []*tx
	committed map[xid]bool
	locks     map[string]*tx // advisory locks of keys

	seq     int64
	rows    []row // in order of seq
	commits []row // in the order of the commits
	tails   bool  // sessions have a tail of the log
	emptied bool  // an operator has emptied the log and not restored it yet

	slots   []*slot
	members []member        // relays that are alive, as far as the database knows
	held    []*heldRow      // in order of seq
	claimed map[int64]*Node // by seq, the process that read the record last
	given   map[string]bool // ids of records that are dead or skipped
	inbox   map[string]*claim
}

// row is a row of the outbox.
type row struct {
	xid    xid
	record outbox.Record
}

// tx is a transaction.
type tx struct {
	db   *db
	node *Node
	xid  xid // 0 until it writes
	over bool

	rows    []outbox.Record
	locks   []string
	effects []Event
	claims  []string
}

func newDB(w *World) *db {
	return &db{
		w: w, committed: make(map[xid]bool), locks: make(map[string]*tx), inbox: make(map[string]*claim),
		given: make(map[string]bool), claimed: make(map[int64]*Node),
	}
}

// begin opens a transaction of a process.
func (d *db) begin(n *Node) *tx {
	t := &tx{db: d, node: n}
	d.open = append(d.open, t)
	n.txs = append(n.txs, t)
	return t
}

// write gives the transaction its number, if it does not have one.
func (t *tx) write() {
	if t.xid == 0 {
		t.db.lastXID++
		t.xid = t.db.lastXID
	}
}

// commit makes the transaction's writes visible. If the transaction has ended already, nothing
// changes and it returns false.
func (t *tx) commit() bool {
	if t.over {
		return false
	}
	if t.xid > 0 {
		t.db.committed[t.xid] = true
	}
	for i := range t.rows {
		t.db.w.note(recordEvent(Committed, t.node, &t.rows[i]))
		t.db.commits = append(t.db.commits, row{xid: t.xid, record: t.rows[i]})
	}
	if len(t.rows) > 0 {
		t.db.ringTails()
	}
	for _, e := range t.effects {
		t.db.w.note(e)
	}
	for _, id := range t.claims {
		t.db.inbox[id].committed = true
	}
	t.end()
	return true
}

// abort rolls the transaction back, if it has not ended.
func (t *tx) abort() {
	if t.over {
		return
	}
	for _, id := range t.claims {
		delete(t.db.inbox, id)
	}
	t.end()
}

// ringTails wakes the relays that follow the log, a moment after a commit.
func (d *db) ringTails() {
	for _, s := range d.slots {
		if n := s.lease.owner; d.tails && n != nil {
			d.w.after(d.w.latency(), n.ring)
		}
	}
}

func (t *tx) end() {
	t.over = true
	t.db.ended = max(t.db.ended, t.xid)
	is := func(other *tx) bool { return other == t }
	t.db.open = slices.DeleteFunc(t.db.open, is)
	t.node.txs = slices.DeleteFunc(t.node.txs, is)
	for _, key := range t.locks {
		delete(t.db.locks, key)
	}
	t.db.w.poke()
}

// snapshot takes a snapshot.
func (d *db) snapshot() snapshot {
	s := snapshot{xmax: d.ended + 1}
	for _, t := range d.open {
		if t.xid > 0 && t.xid < s.xmax {
			s.xip = append(s.xip, t.xid)
		}
	}
	slices.Sort(s.xip)
	return s
}

// lock takes the locks of all keys and returns true, or takes none of them and returns false.
func (t *tx) lock(keys []string) bool {
	for _, key := range keys {
		if holder := t.db.locks[key]; holder != nil && holder != t {
			return false
		}
	}
	for _, key := range keys {
		if t.db.locks[key] == nil {
			t.db.locks[key] = t
			t.locks = append(t.locks, key)
		}
	}
	return true
}

// insert stores messages: the transaction's number is drawn first, then theirs.
func (t *tx) insert(msgs []outbox.Message) {
	t.write()
	for _, m := range msgs {
		t.db.seq++
		r := outbox.Record{Message: m, Seq: t.db.seq, Shard: shard(&m), CreatedAt: time.Now()}
		t.rows = append(t.rows, r)
		t.db.rows = append(t.db.rows, row{xid: t.xid, record: r})
		t.db.w.note(recordEvent(Inserted, t.node, &r))
	}
}

// enqueue inserts messages once it has the locks of their keys.
func (t *tx) enqueue(msgs []outbox.Message) (progress, error) {
	if t.over {
		return answered, outbox.ErrNotInTransaction
	}
	if t.db.w.broken != NoKeyLocks {
		var keys []string
		for i := range msgs {
			if msgs[i].Key != "" {
				keys = append(keys, msgs[i].Topic+"/"+msgs[i].Key)
			}
		}
		if !t.lock(keys) {
			return blocked, nil
		}
	}
	t.insert(msgs)
	return answered, nil
}

// recordEvent returns an event about r.
func recordEvent(what What, n *Node, r *outbox.Record) Event {
	return Event{What: what, Node: n.name, ID: r.ID, Topic: r.Topic, Key: r.Key, Seq: r.Seq, Note: string(r.Payload)}
}
