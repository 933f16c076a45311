package held

import (
	"context"
	"fmt"
	"strconv"

	"github.com/leat-go/leat/cmd/leat/internal/cli/changes"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// ParkedShow is parked show.
type ParkedShow struct {
	ID    string `arg:""`
	Group string `default:"default" placeholder:"GROUP" help:"Relay group." predictor:"group"`
}

// Run prints the record.
func (p *ParkedShow) Run(d *command.Deps) error {
	store, err := d.StoreWith(p.Group, false)
	if err != nil {
		return err
	}
	return showHeld(d, p.Group, p.ID, "held", store.Held)
}

// DeadShow is dead show.
type DeadShow ParkedShow

// Run prints the record.
func (p *DeadShow) Run(d *command.Deps) error {
	store, err := d.StoreWith(p.Group, true)
	if err != nil {
		return err
	}
	return showHeld(d, p.Group, p.ID, "dead", store.Dead)
}

func showHeld(d *command.Deps, group, id, what string, look changes.HeldLook) error {
	record, err := findHeld(d.Context, group, id, look)
	if err != nil {
		return err
	}
	if record == nil {
		return fmt.Errorf("%w: no record with id %q is %s in group %q", command.ErrNothing, id, what, group)
	}
	row, err := command.WholeHeldRow(d, *record)
	if err != nil {
		return err
	}
	facts := append(row.Facts(d), show.Fact{Name: "group", Value: show.Plain(row.Group)},
		show.Fact{Name: "state", Value: row.State}, show.Fact{Name: "since", Value: d.Time(row.Since)},
		show.Fact{Name: "attempts", Value: strconv.Itoa(row.Attempts)}, show.Fact{Name: "reason", Value: show.Plain(row.Reason)})
	for _, e := range row.Errors {
		facts = append(facts, e.Fact(d))
	}
	return d.Object(row, facts...)
}

// findHeld searches all records that look returns, without payloads, and then reads the one with the id.
func findHeld(ctx context.Context, group, id string, look changes.HeldLook) (*admin.HeldRecord, error) {
	const most = 10_000
	query := admin.HeldQuery{Group: group, OmitPayload: true, Limit: most}
	for {
		records, err := look(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if r.ID == id {
				return wholeHeld(ctx, group, r, look)
			}
		}
		if len(records) < most {
			return nil, nil //nolint:nilnil // there is none
		}
		query.After = records[len(records)-1].Seq
	}
}

func wholeHeld(ctx context.Context, group string, r admin.HeldRecord, look changes.HeldLook) (*admin.HeldRecord, error) {
	whole, err := look(ctx, admin.HeldQuery{Group: group, After: r.Seq - 1, Limit: 1})
	if err != nil || len(whole) == 0 || whole[0].ID != r.ID {
		return nil, err
	}
	return &whole[0], nil
}
