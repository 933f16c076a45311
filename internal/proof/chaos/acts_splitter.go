package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/testenv"
)

// lateBy is the lag of the standby.
const lateBy = "2s"

// lateStandby puts a splitter between the bank's relays and the primary. It sends reads to a standby
// that lags: first as pgpool-II decides, then every SELECT.
func (in *injection) lateStandby(ctx context.Context, f *fault) (err error) {
	st := in.stage
	if st.options.Tail { // a change log cannot pass a splitter
		f.consequence = "left out"
		return nil
	}
	standby, err := testenv.OwnStandby(ctx, st.postgres, map[string]string{
		"max_connections": postgresConnections, "recovery_min_apply_delay": lateBy, "fsync": "off",
	})
	if err != nil {
		return fmt.Errorf("start a standby: %w", err)
	}
	defer func() { err = errors.Join(err, standby.Close()) }() //nolint:contextcheck // it ends although ctx has ended
	st.store.forget()                                          // OwnStandby has restarted the primary
	for _, away := range []func(sql string) bool{faultnet.ByFunctions, faultnet.ByText} {
		splitter := faultnet.Splitter{Primary: st.postgres.HostPort, Standby: standby.HostPort, Away: away}
		address, closeSplitter, err := splitter.Open(ctx)
		if err != nil {
			return err
		}
		said := in.listen("standby", "recovery", "splitter", "read-only", "read only")
		in.behindSplitter(ctx, f, address, said)
		closeSplitter()
	}
	return nil
}

// behindSplitter makes the bank's relays reach their database at address for a while. They must go on, or
// said must report that they have logged why not.
func (in *injection) behindSplitter(ctx context.Context, f *fault, address string, said func() bool) {
	in.relaysBy(address, true)
	if in.flows(ctx, underSettingWithin) {
		f.consequence += "transfers pass the splitter; "
	} else {
		f.consequence += "the relays refuse; "
		if !said() {
			in.stood("before a splitter: what does not go on does not say why")
		}
	}
	in.relaysBy(in.stage.server.HostPort, false)
}

// staleReader puts a splitter between the bank's relays and the server. It sends read-only statements to a second
// server, whose tables are in their initial state: first all of them, then every other one, then so few that relays
// mostly start without noticing.
func (in *injection) staleReader(s *sqlStore) func(ctx context.Context, f *fault) error {
	return func(ctx context.Context, f *fault) (err error) {
		reader, err := s.start(ctx)
		if err != nil {
			return fmt.Errorf("start a reader: %w", err)
		}
		defer func() { err = errors.Join(err, reader.Close()) }() //nolint:contextcheck // it ends although ctx has
		db, err := s.make(ctx, reader.Address, bankDatabase, "accounts")
		if err != nil {
			return fmt.Errorf("fill the reader: %w", err)
		}
		if err := db.Close(); err != nil {
			return fmt.Errorf("close the reader: %w", err)
		}
		for _, one := range []int64{1, 2, 50} {
			var reads atomic.Int64
			splitter := faultnet.MySQLSplitter{
				Writer: in.stage.server.HostPort, Reader: reader.HostPort,
				Away: func(string) bool { return reads.Add(1)%one == 0 },
			}
			address, closeSplitter, err := splitter.Open(ctx)
			if err != nil {
				return err
			}
			in.behindSplitter(ctx, f, address, in.listen("splitter"))
			closeSplitter()
		}
		return nil
	}
}

// relaysBy restarts the bank's relays with their database at hostPort. If splitter is true, they use
// unnamed statements.
func (in *injection) relaysBy(hostPort string, splitter bool) {
	relays := in.processes.of(roles.Relay)
	holdAll(relays)
	in.stage.splits.Store(splitter)
	for _, p := range relays {
		p.wire.lead(hostPort)
	}
	releaseAll(relays)
}
