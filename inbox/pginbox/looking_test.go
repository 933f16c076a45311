package pginbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestLookingRegistersNobody: what an operator asks of a misspelt consumer is an error
// that has its name, and leaves no consumer behind.
func TestLookingRegistersNobody(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	in, err := pginbox.New(db.Pool, "typo", pginbox.Config{Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}}})
	require.NoError(t, err)
	w := newWatermark(t, db, "pgx", pginbox.WatermarkConfig{})
	by, sel := somebody, pginbox.Selection{ID: "a"}
	part := pginbox.WatermarkPartition{Topic: wmTopic, Source: at(0).Source}
	for name, look := range map[string]func() error{
		"Parked": func() error { _, err := in.Parked(t.Context(), pginbox.ParkedQuery{}); return err },
		"Audit":  func() error { _, err := in.Audit(t.Context(), pginbox.AuditQuery{}); return err },
		"Redrive": func() error {
			_, err := in.Redrive(t.Context(), pginbox.RedriveRequest{By: by, Selection: sel})
			return err
		},
		"Drop": func() error { _, err := in.Drop(t.Context(), pginbox.DropRequest{By: by, Selection: sel}); return err },
		"SkipHead": func() error {
			_, err := in.SkipHead(t.Context(), pginbox.SkipHeadRequest{By: by, Key: "k"})
			return err
		},
		"PruneAttempts": func() error { _, err := in.PruneAttempts(t.Context(), time.Hour, 1); return err },
		"PruneNotes":    func() error { _, err := in.PruneNotes(t.Context(), time.Hour, 1); return err },
		"PruneAudit":    func() error { _, err := in.PruneAudit(t.Context(), 48*time.Hour, 1); return err },
		"Watermarks":    func() error { _, err := w.Watermarks(t.Context()); return err },
		"Remove": func() error {
			_, err := w.Remove(t.Context(), pginbox.RemoveWatermark{WatermarkBy: pginbox.WatermarkBy(by), WatermarkPartition: part})
			return err
		},
		"Accept": func() error {
			return w.Accept(t.Context(), pginbox.AcceptSource{WatermarkBy: pginbox.WatermarkBy(by), Topic: part.Topic, Source: part.Source})
		},
	} {
		err := look()
		require.ErrorIs(t, err, pginbox.ErrUnknownConsumer, name)
		if name[0] != 'W' && name != "Remove" && name != "Accept" {
			require.ErrorContains(t, err, `"typo"`, name)
		}
	}
	var n int
	require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM leat.inbox_consumers`).Scan(&n))
	require.Zero(t, n)
}

// TestLookingNeedsSelect: and no other privilege.
func TestLookingNeedsSelect(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	in := newShop(t, db.Pool)
	_, err := in.Process(t.Context(), delivery(t.Context(), "a"), nothing)
	require.NoError(t, err)
	reader := newShop(t, roleWith(t, db, grants("SELECT", "_consumers", "_parked", "_audit"), ""))
	_, err = reader.Parked(t.Context(), pginbox.ParkedQuery{})
	require.NoError(t, err)
	_, err = reader.Audit(t.Context(), pginbox.AuditQuery{})
	require.NoError(t, err)
}
