package pgoutbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglog"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// historySpan is how many numbers one statement reads, so that it also ends soon if few of them
// are selected.
const historySpan = 200_000

var _ driver.Playback = (*playback)(nil)

// playback is a driver.Playback.
type playback struct {
	history *history
	by      admin.By
	facts   pgwindow.Facts
	pager   pageReader
	at      place
}

// Read implements driver.Playback.
func (p *playback) Read(ctx context.Context, limit int) ([]outbox.Record, error) {
	if limit < 1 {
		return nil, outbox.ConfigError("limit", limit, "must be positive")
	}
	for p.at.Last < p.at.End {
		if p.pager.conn.IsClosed() {
			if err := p.connectAgain(ctx); err != nil {
				return nil, unusable(err)
			}
		}
		upto := min(p.at.Last+historySpan, p.at.End)
		h := p.history
		records, full, err := p.pager.query(ctx, limit, h.ob.sql.historyPage, p.at.Last, upto, p.at.Target, orNull(p.at.Prev),
			orNull(h.cfg.Since), orNull(h.cfg.Until), likePatterns(h.cfg.Topics), h.cfg.Keys, h.uuids(), limit)
		if err != nil {
			return nil, unusable(describe(err))
		}
		if err := p.complete(ctx); err != nil {
			return nil, unusable(describe(err))
		}
		p.at.Last = upto
		if full {
			p.at.Last = lastSeq(records, upto)
		}
		if len(records) > 0 {
			return records, nil
		}
	}
	return nil, nil
}

// Position implements driver.Playback.
func (p *playback) Position() string { return p.at.String() }

// PositionAfter implements driver.Playback.
func (p *playback) PositionAfter(r *outbox.Record) string {
	at := p.at
	at.Last = r.Seq
	return at.String()
}

// Bounds implements driver.Playback. They ignore an upper bound by time, which would require a
// search.
func (p *playback) Bounds() (first, end int64) {
	return min(p.at.Last, p.at.End) + 1, p.at.End + 1
}

// End implements driver.Playback.
func (p *playback) End(ctx context.Context, e driver.ReplayEnd) error {
	h := p.history
	details := map[string]any{
		"sent": e.Sent, "skipped": e.Skipped, "gaps": e.Gaps, "last_seq": e.LastSeq, "position": e.Position, "done": e.Done,
	}
	if e.Err != nil {
		details["error"] = storable.AtMost(e.Err.Error(), maxAuditError)
	}
	raw, err := json.Marshal(details)
	if err != nil {
		return err
	}
	return describe(pgx.BeginFunc(ctx, h.ob.pool, func(tx pgx.Tx) error {
		return h.ob.held.Note(ctx, tx, h.cfg.Group, "replay_end", p.by, string(raw))
	}))
}

// maxAuditError bounds the text of an error in the audit, in bytes.
const maxAuditError = 2000

// Close implements driver.Playback.
func (p *playback) Close(ctx context.Context) error {
	pglog.Close(ctx, p.pager.conn)
	return nil
}

// connect opens a read-only connection.
func (p *playback) connect(ctx context.Context) error {
	conn, err := p.history.ob.connectAs(ctx, "leat replay "+p.history.cfg.Group)
	if err != nil {
		return err
	}
	if conn.direct {
		_, err = conn.Exec(ctx, "SELECT set_config('default_transaction_read_only', 'on', false), set_config('statement_timeout', '10min', false)")
	}
	if err == nil {
		p.facts, err = p.history.ob.window.Facts(ctx, conn)
	}
	if errors.Is(err, pgwindow.ErrStandby) {
		err = fmt.Errorf("%w: %w", driver.ErrSourceUnusable, err)
	}
	if err != nil {
		pglog.Close(ctx, conn.Conn)
		return err
	}
	p.pager.conn, p.pager.pooled = conn.Conn, !conn.direct
	p.pager.settings, p.pager.large = p.history.ob.sql.pageSettings, p.history.ob.sql.pageLarge
	return nil
}

// connectAgain replaces a connection that was lost. A standby is temporary, as it is for a
// running relay.
func (p *playback) connectAgain(ctx context.Context) error {
	err := p.connect(ctx)
	switch {
	case errors.Is(err, pgwindow.ErrStandby):
		return pgwindow.ErrStandby
	case err != nil:
		return err
	default:
		return p.belongs()
	}
}

// belongs checks that the replay was begun in this cluster.
func (p *playback) belongs() error {
	return basis.Same(basis.ErrOtherCluster, "system identifier", p.at.System, p.facts.SystemIdentifier)
}

// place is the progress of a playback. The remaining rows are above Last, up to End, visible to
// Target and not to Prev.
type place struct {
	System       int64
	Target, Prev string
	Last, End    int64
}

// String returns the place in the format that parsePlace reads.
func (p place) String() string {
	return fmt.Sprintf("1/%d/%s/%s/%d/%d", p.System, p.Target, p.Prev, p.Last, p.End)
}

func parsePlace(text string) (place, error) {
	bad := outbox.ConfigError("Position", strconv.Quote(text), "is not a position of a replay of this outbox")
	parts := strings.Split(text, "/")
	if len(parts) != 6 || parts[0] != "1" {
		return place{}, bad
	}
	var numbers [3]int64
	for i, at := range []int{1, 4, 5} {
		n, err := strconv.ParseInt(parts[at], 10, 64)
		if err != nil {
			return place{}, bad
		}
		numbers[i] = n
	}
	for i, snapshot := range parts[2:4] {
		if _, err := pgwindow.ParseSnapshot(snapshot); err != nil && (i == 0 || snapshot != "") {
			return place{}, bad
		}
	}
	return place{System: numbers[0], Target: parts[2], Prev: parts[3], Last: numbers[1], End: numbers[2]}, nil
}

func orNull[T string | time.Time](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
