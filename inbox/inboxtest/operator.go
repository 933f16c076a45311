package inboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/leat-go/leat/inbox/admin"
)

// someone is the operator of the suite.
func someone() admin.By {
	return admin.By{Actor: "suite", Reason: "it is fixed", Details: map[string]string{"address": "192.0.2.7", "mode": "basic"}}
}

// knows reports whether e has all the details of someone.
func knows(e admin.AuditEntry) bool {
	var details struct {
		By map[string]string `json:"by"`
	}
	return json.Unmarshal(e.Details, &details) == nil && maps.Equal(details.By, someone().Details)
}

// everything selects all messages that wait for an operator.
func everything() admin.Selection {
	return admin.Selection{Before: time.Now().Add(24 * time.Hour)}
}

// redrive redrives the parked messages of a key of topic "", or all if key is empty.
func redrive(ctx context.Context, s FailureSubject, key string) error {
	in, err := s.Admin()
	if err != nil {
		return err
	}
	sel := everything()
	if key != "" {
		sel = admin.Selection{Key: key}
	}
	_, err = in.Redrive(ctx, admin.ChangeRequest{By: someone(), Consumer: consumer, Selection: sel})
	return err
}

// parkedIDs returns the ids of the parked messages and of those that wait behind them, in
// the order in which they were parked.
func parkedIDs(ctx context.Context, s FailureSubject) (ids []string, err error) {
	in, err := s.Admin()
	if err != nil {
		return nil, err
	}
	all, err := in.Parked(ctx, admin.ParkedQuery{Consumer: consumer})
	if errors.Is(err, admin.ErrUnknownConsumer) {
		return nil, nil // no message has arrived yet
	}
	for _, p := range all {
		ids = append(ids, p.ID)
	}
	return ids, err
}
