package wmforward

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// facts are the properties of a server that a reader needs before it reads.
type facts struct {
	systemIdentifier  int64
	synchronousCommit string
	offsets           bool // whether the forwarder's offsets table exists
}

// facts reads and checks them.
func (s *Source) facts(ctx context.Context, db pgwindow.Querier) (facts, error) {
	var f facts
	var standby, table, xid, index, subscribed bool
	var cache int64
	var partly string
	err := db.QueryRow(ctx, s.sql.facts, s.cfg.log().Qualified(""), s.cfg.offsets().Qualified("")).
		Scan(&standby, &f.systemIdentifier, &f.synchronousCommit, &table, &f.offsets, &xid, &index, &cache, &partly, &subscribed)
	switch {
	case err != nil:
		return facts{}, err
	case standby:
		return facts{}, pgwindow.ErrStandby
	case !table:
		return facts{}, fmt.Errorf("%w: %s", errNoTable, s.cfg.log().Qualified(""))
	case !xid:
		return facts{}, fmt.Errorf("%w: %s", errNoXid, s.cfg.log().Qualified(""))
	case !index:
		return facts{}, fmt.Errorf("%w: %s", errNoIndex, s.cfg.log().Qualified(""))
	case partly != "":
		return facts{}, fmt.Errorf("%w: on %s", outbox.ErrRowSecurity, partly)
	case subscribed:
		return facts{}, basis.Refuse(basis.ErrSubscribed, s.cfg.log().Qualified(""))
	case cache > 1:
		return facts{}, fmt.Errorf("%w: it is CACHE %d", pgwindow.ErrSequenceCache, cache)
	}
	return f, nil
}

// belongs checks that w was stored in this cluster.
func (f facts) belongs(w pgwindow.Window) error {
	return pgwindow.Facts{SystemIdentifier: f.systemIdentifier}.Belongs(w)
}
