// Package held has the commands about records that are set aside: parked, dead and delayed.
package held

import (
	"slices"
	"strconv"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/cli/changes"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// Parked are the commands about parked records.
type Parked struct {
	List    ParkedList   `cmd:"" help:"Parked records, and those that wait behind them."`
	Keys    ParkedKeys   `cmd:"" help:"Parked keys, and what waits behind them."`
	Errors  ParkedErrors `cmd:"" help:"Causes, the most frequent first."`
	Show    ParkedShow   `cmd:"" help:"One record, with payload and all errors."`
	Redrive HeldRedrive  `cmd:"" help:"Try records again, in order and with the same ids."`
	Skip    ParkedSkip   `cmd:"" help:"Drop the first record of a key, and go on with the next."`
	Drop    HeldDrop     `cmd:"" help:"Drop records for good: they are never sent."`
}

// Dead are the commands about discarded records.
type Dead struct {
	List    DeadList    `cmd:"" help:"Records that were given up."`
	Errors  DeadErrors  `cmd:"" help:"Causes, the most frequent first."`
	Show    DeadShow    `cmd:"" help:"One record, with payload and all errors."`
	Redrive DeadRedrive `cmd:"" help:"Try records again, with the same ids."`
	Drop    DeadDrop    `cmd:"" help:"Drop records for good."`
}

// HeldFilter are the flags of lists of records.
type HeldFilter struct {
	Group string `default:"default" placeholder:"GROUP" help:"Relay group." predictor:"group"`
	Topic string `placeholder:"PATTERN" help:"Topics; * matches any characters." predictor:"topic"`
}

// ParkedList is parked list.
type ParkedList struct {
	HeldFilter
	command.Paging

	Key      string `placeholder:"KEY" help:"This key only."`
	Retrying bool   `help:"Records under retry instead of parked ones."`
}

// Run prints the list.
func (p *ParkedList) Run(d *command.Deps) error {
	store, err := d.Store(p.Group)
	if err != nil {
		return err
	}
	query := admin.HeldQuery{Group: p.Group, Topic: p.Topic, Key: p.Key, State: admin.HeldParked, OmitPayload: true}
	empty := "No record is parked."
	if p.Retrying {
		query.State, empty = admin.HeldRetrying, "No record is tried again."
	}
	return command.Pages(d, p.Paging, command.HeldList(empty), heldPage(d, query, store, store.Held))
}

// DeadList is dead list.
type DeadList struct {
	HeldFilter
	command.Paging

	Key string `placeholder:"KEY" help:"This key only."`
}

// Run prints the list.
func (p *DeadList) Run(d *command.Deps) error {
	store, err := d.Store(p.Group)
	if err != nil {
		return err
	}
	query := admin.HeldQuery{Group: p.Group, Topic: p.Topic, Key: p.Key, OmitPayload: true}
	return command.Pages(d, p.Paging, command.HeldList("No record is dead."), heldPage(d, query, store, store.Dead))
}

func heldPage(d *command.Deps, query admin.HeldQuery, store admin.Outbox, ask changes.HeldLook) command.Page[command.HeldRow] {
	return command.Numbered(func(after int64, limit int) ([]admin.HeldRecord, error) {
		if err := d.Known(store, query.Group, query.State == ""); err != nil { // of dead records, which have no state
			return nil, err
		}
		query.After, query.Limit = after, limit
		return ask(d.Context, query)
	}, func(r admin.HeldRecord) int64 { return r.Seq }, command.NewHeldRow)
}

// ParkedKeys is parked keys.
type ParkedKeys struct {
	HeldFilter
	command.Paging
}

// keyRow is the JSON of a parked key.
type keyRow struct {
	Topic     string    `json:"topic"`
	Key       string    `json:"key,omitempty"`
	Seq       int64     `json:"seq"`
	ID        string    `json:"id"`
	Records   int       `json:"records"`
	Attempts  int       `json:"attempts"`
	Reason    string    `json:"reason"`
	LastError string    `json:"last_error,omitempty"`
	LastKind  string    `json:"last_kind,omitempty"`
	Since     time.Time `json:"since"`
}

// Run prints the list.
func (p *ParkedKeys) Run(d *command.Deps) error {
	store, err := d.Store(p.Group)
	if err != nil {
		return err
	}
	id, reason := command.Identified("FIRST ID", func(k keyRow) string { return k.ID }, "REASON", func(k keyRow) string { return k.Reason })
	list := show.List[keyRow]{Name: "keys", Empty: "No key is parked.", Columns: []show.Column[keyRow]{
		command.TextColumn("TOPIC", func(k keyRow) string { return k.Topic }),
		command.TextColumn("KEY", func(k keyRow) string { return k.Key }),
		command.CountColumn("RECORDS", func(k keyRow) int64 { return int64(k.Records) }),
		command.CountColumn("ATTEMPTS", func(k keyRow) int64 { return int64(k.Attempts) }),
		command.TextColumn("KIND", func(k keyRow) string { return k.LastKind }),
		command.TimeColumn("SINCE", func(k keyRow) time.Time { return k.Since }),
		id, reason,
	}}
	return command.Pages(d, p.Paging, list, command.Numbered(func(after int64, limit int) ([]admin.ParkedKey, error) {
		if err := d.Known(store, p.Group, false); err != nil {
			return nil, err
		}
		return store.ParkedKeys(d.Context, admin.KeysQuery{Group: p.Group, Topic: p.Topic, After: after, Limit: limit})
	}, func(k admin.ParkedKey) int64 { return k.Seq }, func(k admin.ParkedKey) keyRow {
		return keyRow{k.Key.Topic, k.Key.Key, k.Seq, k.ID, k.Records, k.Attempts, k.Reason, k.LastError, k.LastKind, command.UTC(k.Since)}
	}))
}

// errorsRow is the JSON of the records that failed with the same error.
type errorsRow struct {
	Topic       string    `json:"topic"`
	Kind        string    `json:"kind,omitempty"`
	Records     int       `json:"records"`
	Again       int       `json:"again,omitempty"`
	First       time.Time `json:"first"`
	Last        time.Time `json:"last"`
	Fingerprint string    `json:"fingerprint"`
	Example     string    `json:"example"`
}

func printErrors(d *command.Deps, query admin.FailuresQuery) error {
	if query.Limit < 1 || query.Limit > 10_000 {
		return command.Usage("--limit", strconv.Itoa(query.Limit), "must be 1 to 10000")
	}
	store, err := d.StoreWith(query.Group, query.Dead)
	if err != nil {
		return err
	}
	failures, err := store.Failures(d.Context, query)
	if err != nil {
		return err
	}
	list := show.List[errorsRow]{Name: "errors", Empty: "Nothing has failed.", Columns: []show.Column[errorsRow]{
		command.CountColumn("RECORDS", func(e errorsRow) int64 { return int64(e.Records) }),
		command.CountColumn("AGAIN", func(e errorsRow) int64 { return int64(e.Again) }),
		command.TextColumn("TOPIC", func(e errorsRow) string { return e.Topic }),
		command.TextColumn("KIND", func(e errorsRow) string { return e.Kind }),
		command.TimeColumn("FIRST", func(e errorsRow) time.Time { return e.First }),
		command.TimeColumn("LAST", func(e errorsRow) time.Time { return e.Last }),
		command.WholeColumn("FINGERPRINT", func(e errorsRow) string { return e.Fingerprint }),
	}}
	if query.Dead { // the store does not know if they were redriven
		list.Columns = slices.Delete(list.Columns, 1, 2)
	}
	return list.Print(d.Printer, command.RowsOf(failures, func(f admin.FailureGroup) errorsRow {
		return errorsRow{f.Topic, f.Kind, f.Records, f.Again, command.UTC(f.First), command.UTC(f.Last), f.Fingerprint, f.Example}
	}), "")
}

// ParkedErrors is parked errors.
type ParkedErrors struct {
	HeldFilter

	Limit int `default:"100" placeholder:"N" help:"Rows, 1 to 10000."`
}

// Run prints the list.
func (p *ParkedErrors) Run(d *command.Deps) error {
	return printErrors(d, admin.FailuresQuery{Group: p.Group, Topic: p.Topic, Limit: p.Limit})
}

// DeadErrors is dead errors.
type DeadErrors ParkedErrors

// Run prints the list.
func (p *DeadErrors) Run(d *command.Deps) error {
	return printErrors(d, admin.FailuresQuery{Group: p.Group, Topic: p.Topic, Limit: p.Limit, Dead: true})
}
