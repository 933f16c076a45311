package chaos

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/testenv"
)

// lateBy is how far behind the standby is.
const lateBy = "2s"

// lateStandby puts a splitter between the bank's relays and the primary. It sends reads to a standby
// that lags: first as pgpool-II decides, then every SELECT.
func (in *injection) lateStandby(ctx context.Context, f *fault) (err error) {
	st := in.stage
	if st.options.Tail { // no splitter carries a change log
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
	st.store.forget()                                          // it has restarted the primary
	for _, away := range []func(sql string) bool{faultnet.ByFunctions, faultnet.ByText} {
		splitter := faultnet.Splitter{Primary: st.postgres.HostPort, Standby: standby.HostPort, Away: away}
		address, closeSplitter, err := splitter.Open(ctx)
		if err != nil {
			return err
		}
		said := in.listen("standby", "recovery", "splitter", "read-only", "read only")
		in.relaysBy(address, true)
		if in.flows(ctx, underSettingWithin) {
			f.consequence += "transfers pass the splitter; "
		} else {
			f.consequence += "the relays refuse; "
			if !said() {
				in.stood("before a splitter: what does not go on does not say why")
			}
		}
		in.relaysBy(st.postgres.HostPort, false)
		closeSplitter()
	}
	return nil
}

// relaysBy restarts the bank's relays with their database at hostPort, with unnamed statements if a
// splitter is there.
func (in *injection) relaysBy(hostPort string, splitter bool) {
	relays := in.processes.of(roles.Relay)
	holdAll(relays)
	in.stage.splits.Store(splitter)
	for _, p := range relays {
		p.wire.lead(hostPort)
	}
	releaseAll(relays)
}
