package outboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// byDetails is by, with all that can be known of who asks.
func byDetails() admin.By {
	b := by()
	b.Details = map[string]string{"address": "192.0.2.7", "mode": `basic "é\` + "\n", "empty": ""}
	return b
}

// auditKeepsWhoAsked makes every change that there is, and looks whether the audit knows
// all of who has asked for it.
func auditKeepsWhoAsked(ctx context.Context, tr *trial) error {
	s, err := ward(ctx, tr)
	if err != nil {
		return err
	}
	held := func(key string) admin.Selection { return admin.Selection{Topic: testTopic, Key: key} }
	dead := held("o")
	dead.Dead = true
	_, err1 := s.op.Redrive(ctx, admin.RedriveRequest{By: byDetails(), Selection: held("l")})
	_, err2 := s.op.SkipHead(ctx, admin.SkipHeadRequest{By: byDetails(), Key: testKey("k")})
	_, err3 := s.op.Drop(ctx, admin.DropRequest{By: byDetails(), Selection: admin.Selection{Topics: testTopic, Kind: "permanent"}})
	_, err4 := s.op.Redrive(ctx, admin.RedriveRequest{By: byDetails(), Selection: dead})
	more, err5 := changeMore(ctx, tr)
	if err := errors.Join(err1, err2, err3, err4, err5, s.longDetailsAreRefused(ctx)); err != nil {
		return err
	}
	entries, err := s.wholeAudit(ctx)
	if err != nil {
		return err
	}
	found := 0
	for _, e := range entries {
		if e.Actor != by().Actor {
			continue // a relay
		}
		found++
		var details struct {
			By map[string]string `json:"by"`
		}
		if err := json.Unmarshal(e.Details, &details); err != nil || !maps.Equal(details.By, byDetails().Details) {
			return fmt.Errorf("audit: %s: details %s: want %q of who asked: %w", e.Action, e.Details, byDetails().Details, errors.Join(err, errWrongAnswer))
		}
	}
	if want := 4 + more; found != want {
		return fmt.Errorf("audit: %d entries of the operator, want %d", found, want)
	}
	return nil
}

// changeMore changes what only some stores can change, and returns how many changes it made.
func changeMore(ctx context.Context, tr *trial) (changes int, err error) {
	if manager, ok := tr.Subject.(admin.GroupManager); ok {
		changes++
		err = errors.Join(err, manager.SetMaxLag(ctx, admin.MaxLagRequest{By: byDetails(), Group: testGroup, MaxLag: time.Hour}))
	}
	if pauser, ok := tr.Subject.(admin.Pauser); ok {
		changes += 2
		pause := admin.PauseRequest{By: byDetails(), Group: testGroup, Topics: []string{"none"}}
		err = errors.Join(err, pauser.Pause(ctx, pause), pauser.Resume(ctx, pause))
	}
	if scheduler, ok := tr.Subject.(admin.Scheduler); ok && !tr.features.NoDelay {
		changes++
		msgs := keyed("k", "later")
		msgs[0].ID, msgs[0].NotBefore = "later", time.Now().Add(24*time.Hour)
		err = errors.Join(err, tr.commit(ctx, msgs...))
		_, cancelled := scheduler.CancelDelayed(ctx, admin.CancelRequest{By: byDetails(), ID: "later"})
		err = errors.Join(err, cancelled)
	}
	return changes, err
}

// longDetailsAreRefused asks with details that cannot be kept.
func (s *setAside) longDetailsAreRefused(ctx context.Context) error {
	many := map[string]string{}
	for i := range 21 {
		many[strconv.Itoa(i)] = ""
	}
	for what, details := range map[string]map[string]string{
		"too many": many, "a long text": {"a": strings.Repeat("x", 1001)}, "a long name": {strings.Repeat("x", 101): ""},
		"no name": {"": "x"}, "no text": {"a": "\xff"}, "a NUL": {"a\x00": ""},
	} {
		request := admin.RedriveRequest{By: byDetails(), Selection: admin.Selection{Topics: "none"}}
		request.Details = details
		if _, err := s.op.Redrive(ctx, request); !errors.Is(err, admin.ErrInvalidRequest) {
			return unexpected("details with "+what, err, admin.ErrInvalidRequest)
		}
	}
	return nil
}
