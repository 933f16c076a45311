package pginbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// maintenanceRound is one pass of maintenance.
type maintenanceRound struct {
	*Maintenance

	state   rangeState
	report  outboxadmin.MaintenanceReport
	alarmed []outbox.AlarmEvent // alarms that may last
}

// all runs every step once. A step that fails does not prevent the next.
func (r *maintenanceRound) all(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	type step struct {
		name string
		do   func(context.Context) error
	}
	steps := []step{{"ranges ahead", r.ahead}}
	r.setFloor(r.state.floor)
	if err := r.clock.Look(time.UnixMilli(r.state.now)); err != nil {
		r.alarm(ctx, outbox.AlarmEvent{Kind: AlarmClock, Detail: err.Error()})
	} else {
		steps = append(
			steps,
			step{"floor", r.raise}, step{"forget", r.forget}, step{"delete", r.deleteBelow},
			step{"contract", r.contract}, step{"sweep", r.sweep}, step{"prune", r.prune},
		)
	}
	if err := clocks.Ahead(r.report.Floor, time.UnixMilli(r.state.now)); err != nil && len(steps) > 1 {
		r.alarm(ctx, outbox.AlarmEvent{Kind: AlarmClock, Detail: err.Error()})
	}
	var errs []error
	for _, step := range steps {
		err := r.keep(ctx)
		if err == nil {
			err = step.do(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return errors.Join(append(errs, err, ctx.Err())...)
		case errors.Is(err, errElsewhere):
			return errors.Join(append(errs, err)...)
		case pgerr.Is(err, pgerr.LockNotAvailable):
			r.report.Busy = true
			r.alarm(ctx, outbox.AlarmEvent{Kind: AlarmBusy, Detail: fmt.Sprintf("%s: %v", step.name, err)})
		case err != nil:
			errs = append(errs, fmt.Errorf("leat: inbox maintenance, %s: %w", step.name, pgclaim.Explain(err)))
		}
	}
	return errors.Join(errs...)
}

// begin reads the state, and finishes an Enable that was interrupted.
func (r *maintenanceRound) begin(ctx context.Context) (err error) {
	if r.state, err = r.load(ctx, r.pool); err != nil {
		return pgclaim.Explain(err)
	}
	switch r.state.mode {
	case modeOff:
		return ErrNotEnabled
	case modePending:
		if err := r.enable(ctx); err != nil {
			return err
		}
		if r.state, err = r.load(ctx, r.pool); err != nil {
			return pgclaim.Explain(err)
		}
	}
	_, err = r.pool.Exec(ctx, r.statements.settings, r.cfg.Width.Milliseconds())
	return err
}
