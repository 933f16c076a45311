package pgoutbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

var _ driver.Positioned = (*session)(nil)

// positionFormat is the version of position's encoding.
const positionFormat = 1

// errPosition is wrapped by the errors of Seek for a position that cannot be read.
var errPosition = errors.New("leat: the sink's position does not fit")

// position is the position that a sink stores for a slot.
type position struct {
	Format           int      `json:"v"`
	Group            string   `json:"group"`
	Slot             int16    `json:"slot"`
	Slots            int16    `json:"slots"`
	Topics           []string `json:"topics,omitempty"`
	Window           int64    `json:"window"`
	Prev             string   `json:"prev"`
	Target           string   `json:"target"`
	Floor            int64    `json:"floor"`
	NextFloor        int64    `json:"next_floor"`
	SourceFloor      int64    `json:"source_floor"`
	Last             int64    `json:"last"`
	OpenedBy         string   `json:"opened_by"`
	SystemIdentifier int64    `json:"system_identifier"`
	// Incarnation of the log; 0 if it was not recorded.
	Incarnation int64 `json:"incarnation,omitempty"`
}

// SlotName implements driver.Positioned.
func (n *session) SlotName() string {
	return n.log.lease.Slot.Group + "/" + strconv.Itoa(n.Slot())
}

// Position implements driver.Positioned.
func (n *session) Position(p driver.Page, settled int) ([]byte, error) {
	w, err := n.After(p, settled)
	if err != nil {
		return nil, err
	}
	slot := n.log.lease.Slot
	return json.Marshal(position{
		Format: positionFormat, Group: slot.Group, Slot: slot.No, Slots: w.Slots, Topics: n.log.source.cfg.Topics,
		Window: w.No, Prev: w.Prev.Text, Target: w.Target.Text,
		Floor: w.Floor, NextFloor: w.NextFloor, SourceFloor: w.SourceFloor, Last: w.Last,
		OpenedBy: strconv.FormatUint(w.OpenedBy, 10), SystemIdentifier: w.SystemIdentifier,
		Incarnation: n.log.facts.Incarnation,
	})
}

// toWindow returns the position as a window, or an error if it is not one.
func (p position) toWindow() (w pgwindow.Window, err error) {
	w = pgwindow.Window{
		No: p.Window, Floor: p.Floor, NextFloor: p.NextFloor, SourceFloor: p.SourceFloor, Last: p.Last,
		SystemIdentifier: p.SystemIdentifier, Slots: p.Slots,
	}
	if p.Window < 0 || p.Last < 0 || p.Floor < 0 || p.NextFloor < p.Floor || p.SourceFloor < p.NextFloor {
		return w, fmt.Errorf("window = %d, last = %d, floors = %d, %d, %d: negative, or out of order",
			p.Window, p.Last, p.Floor, p.NextFloor, p.SourceFloor)
	}
	if w.Prev, err = pgwindow.ParseSnapshot(p.Prev); err != nil {
		return w, fmt.Errorf("prev: %w", err)
	}
	if w.Target, err = pgwindow.ParseSnapshot(p.Target); err != nil {
		return w, fmt.Errorf("target: %w", err)
	}
	if w.OpenedBy, err = strconv.ParseUint(p.OpenedBy, 10, 64); err != nil {
		return w, fmt.Errorf("opened_by = %.100q is not a transaction id", p.OpenedBy)
	}
	return w, nil
}

// Seek implements driver.Positioned. The stored position may be ahead of the given one by windows
// in which the slot had nothing to send; otherwise it must not be. Nor can it be behind by
// windows: each is on disk before it is used, so a sink that is further proves that the database
// has lost commits. What was sent from them is unknown here, and their transaction ids are
// assigned again. That stays so, however far the server gets later.
//
// The stored position is from the moment when the lease was acquired. If another relay has led
// since, the sink is rightly further: nothing is refused before the lease is confirmed. See
// design 7.3.
func (n *session) Seek(ctx context.Context, raw []byte) error {
	err := n.seekTo(ctx, raw)
	if errors.Is(err, driver.ErrSourceUnusable) {
		if lost := n.Renew(ctx, refusalLease); lost != nil {
			return lost
		}
	}
	return err
}

// refusalLease is the remaining lease after a refusal: the session ends.
const refusalLease = 10 * time.Second

func (n *session) seekTo(ctx context.Context, raw []byte) error {
	if !n.log.source.cfg.SyncPositions {
		return unusable(fmt.Errorf("%w: SourceConfig.SyncPositions is off, so that the server may give its transaction numbers out twice", errPosition))
	}
	if raw == nil {
		return n.seekNothing()
	}
	var p position
	if err := json.Unmarshal(raw, &p); err != nil {
		return unusable(fmt.Errorf("%w: %w", errPosition, err))
	}
	slot := n.log.lease.Slot
	if p.Format != positionFormat || p.Slots < 1 || p.Slots > maxSlots || p.Group != slot.Group || p.Slot != slot.No {
		return unusable(fmt.Errorf("%w: format %d of slot %d of %d of %q, want %d of %s",
			errPosition, p.Format, p.Slot, p.Slots, p.Group, positionFormat, n.SlotName()))
	}
	to, err := p.toWindow()
	if err != nil {
		return unusable(fmt.Errorf("%w: %w", errPosition, err))
	}
	err = cmp.Or(
		n.log.facts.Belongs(to), n.log.facts.Continues(p.Incarnation),
		basis.Reached(basis.ErrBehindSink, "window", to.No, n.Window().No),
	)
	if err != nil || n.Closed() {
		return unusable(err) // closed: everything before was settled, and nothing comes after
	}
	return unusable(n.seek(ctx, to, p.Topics))
}

// seekNothing is Seek if the sink has no position. A relay gives it one before the first window
// is opened.
func (n *session) seekNothing() error {
	if w := n.Window(); w.No > 0 || w.Last > 0 {
		return unusable(basis.Refuse(basis.ErrSinkWentBack, fmt.Sprintf("it has none of %s, which stands at window %d, record %d", n.SlotName(), w.No, w.Last)))
	}
	return nil
}

// seek moves to the later of to and the stored position, within one window.
func (n *session) seek(ctx context.Context, to pgwindow.Window, topics []string) error {
	w := n.Window()
	switch {
	case to.No < w.No:
		return n.nothingSince(ctx, to, topics)
	case to.Prev.Text != w.Prev.Text || to.Target.Text != w.Target.Text:
		return basis.Refuse(basis.ErrBehindSink, fmt.Sprintf("the sink has another window %d", w.No))
	case to.Last < w.Last:
		return behind(to, w)
	case to.Last > w.Last:
		return n.Skip(ctx, to.Last)
	default:
		return nil
	}
}

func behind(to, w pgwindow.Window) error {
	return basis.Refuse(basis.ErrSinkWentBack, fmt.Sprintf("it stands at window %d, record %d, behind window %d, record %d", to.No, to.Last, w.No, w.Last))
}

// nothingSince checks that between to and the stored window the slot had nothing to send. If the
// number of slots was changed in between, it checks the shards that belonged to the slot before
// and after. If the topics were changed, it cannot be known.
func (n *session) nothingSince(ctx context.Context, to pgwindow.Window, topics []string) error {
	w := n.Window()
	if w.Last > 0 {
		return behind(to, w)
	}
	if !slices.Equal(topics, n.log.source.cfg.Topics) {
		return nil
	}
	of := lcm(int(to.Slots), int(w.Slots))
	for _, span := range []pgwindow.Window{
		{Prev: to.Prev, Target: to.Target, Floor: to.Floor, Last: to.Last},
		{Prev: to.Target, Target: w.Prev, Floor: to.NextFloor},
	} {
		found, err := n.log.anyIn(ctx, span, of)
		if err != nil {
			return err
		}
		if found {
			return behind(to, w)
		}
	}
	return nil
}

// anyIn reports whether the window holds a record of the slot's after its Last.
func (l *slotLog) anyIn(ctx context.Context, w pgwindow.Window, slots int) (bool, error) {
	from := w.Last
	if from < w.Floor {
		if w.HasEarly() {
			records, _, err := l.query(ctx, 1, l.source.sql.pageEarly,
				w.Prev.Text, w.Target.Text, from, w.Floor, 1, slots, l.lease.Slot.No, l.source.like)
			if err != nil || len(records) > 0 {
				return len(records) > 0, err
			}
		}
		from = w.Floor
	}
	if w.Empty() {
		return false, nil
	}
	records, _, err := l.query(ctx, 1, l.source.sql.page, w.Prev.Text, w.Target.Text, from, 1, slots, l.lease.Slot.No, l.source.like)
	return len(records) > 0, err
}

// lcm returns the least common multiple: a shard that is s modulo both is s modulo it.
func lcm(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
