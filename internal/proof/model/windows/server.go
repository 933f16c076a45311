package windows

// Bounds of every search.
const (
	writers = 3
	lastXid = 15
)

// snapshot is a pg_snapshot.
type snapshot struct {
	xip  uint16 // a bit for each xid that was in progress
	xmax uint8
}

func bit(xid uint8) uint16 { return 1 << xid }

// sees returns what pg_visible_in_snapshot returns for a committed xid.
func (p snapshot) sees(xid uint8) bool {
	return xid < p.xmax && p.xip&bit(xid) == 0
}

// End of a writer's transaction.
const (
	open uint8 = iota
	committed
	aborted
)

// writer is one producer's transaction.
type writer struct {
	xid    uint8
	first  uint8 // number of its first row, 0 for none yet
	second uint8
	rank   uint8 // its place among the commits
	locked bool  // it has the lock of its key
	end    uint8
}

// window is the newest row of the slot's positions.
type window struct {
	prev, target                  snapshot
	floor, nextFloor, sourceFloor uint8
	last, openedBy                uint8
}

func (w window) empty() bool { return w.prev == w.target }

// hasEarly reports whether a transaction that was in progress in prev had ended in target.
func (w window) hasEarly() bool { return w.floor > 0 && w.prev.xip&^w.target.xip != 0 }

// database is the part that a crash of the server resets to the state of the disk.
type database struct {
	running uint16 // xids in progress, one bit each
	nextXid uint8
	latest  uint8 // highest xid that has completed
	seq     uint8 // last number drawn
	commits uint8
	writers [writers]writer
	window  window
}

// now returns the snapshot that a statement would take.
func (d *database) now() snapshot {
	xmax := d.latest + 1
	return snapshot{xip: d.running & (bit(xmax) - 1), xmax: xmax}
}

// xmin returns the lowest xid in progress, or the next xid if there is none.
func (d *database) xmin() uint8 {
	for xid := range d.nextXid {
		if d.running&bit(xid) != 0 {
			return xid
		}
	}
	return d.nextXid
}

// drawXid begins a transaction.
func (d *database) drawXid() uint8 {
	xid := d.nextXid
	d.nextXid++
	d.running |= bit(xid)
	return xid
}

// complete ends a transaction.
func (d *database) complete(xid uint8) {
	if xid == 0 {
		return
	}
	d.running &^= bit(xid)
	d.latest = max(d.latest, xid)
}

// restart ends open transactions, as after a crash.
func (d *database) restart() {
	for i := range d.writers {
		if w := &d.writers[i]; w.end == open && (w.xid != 0 || w.first != 0 || w.locked) {
			*w = writer{end: aborted}
		}
	}
	d.running, d.latest = 0, d.nextXid-1
}

// row is one row of the log.
type row struct {
	writer, nth uint8
	xid, seq    uint8
}

// bit returns the row's place in a set of rows.
func (r row) bit() uint8 { return 1 << (r.writer*2 + r.nth) }

// highest returns the highest number that a row has or that was drawn. A sequence that was set back may be
// lower.
func (d *database) highest() uint8 {
	n := d.seq
	for i := range d.writers {
		n = max(n, d.writers[i].first, d.writers[i].second)
	}
	return n
}

// taken reports whether a row has the number.
func (d *database) taken(seq uint8) bool {
	for i := range d.writers {
		if d.writers[i].first == seq || d.writers[i].second == seq {
			return true
		}
	}
	return false
}

// newest returns the highest number of a committed row.
func (d *database) newest() (seq uint8) {
	d.rows(func(o row) bool {
		seq = o.seq
		return true
	})
	return seq
}

// rows calls f with each row that has committed, by number, until f returns false.
func (d *database) rows(f func(r row) bool) {
	for seq := uint8(1); seq <= d.highest(); seq++ {
		for i := range uint8(writers) {
			w := &d.writers[i]
			if w.end != committed {
				continue
			}
			if w.first == seq && !f(row{i, 0, w.xid, seq}) {
				return
			}
			if w.second == seq && !f(row{i, 1, w.xid, seq}) {
				return
			}
		}
	}
}
