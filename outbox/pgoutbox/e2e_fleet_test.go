package pgoutbox_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// fleet is five relay processes of one group that are killed and frozen.
type fleet struct {
	*stage

	environ []string
	relays  [5]*process
	rng     *rand.Rand
	kills   int // that found records sent and unsettled
	stops   int // that did, past the lease
	idle    int // faults that found nothing under way
}

func newFleet(t *testing.T, slots int) *fleet {
	t.Helper()
	f := &fleet{
		stage: newStage(t), rng: rand.New(rand.NewPCG(uint64(slots), 5)),
		environ: []string{envRelaySlots + "=" + strconv.Itoa(slots), envRelayLinger + "=5ms"},
	}
	for i := range f.relays {
		f.relays[i] = f.spawn(fastTakeover().Lease, f.environ...)
	}
	return f
}

// busy returns the index of a relay that has sent records it has not settled and is not frozen, or -1.
func (f *fleet) busy() int {
	for _, i := range f.rng.Perm(len(f.relays)) {
		p := f.relays[i]
		if !p.frozen.Load() && !p.ended() && p.unsettled() > 0 {
			return i
		}
	}
	return -1
}

// strike waits for a relay with unsettled records and kills or freezes it.
func (f *fleet) strike(freeze bool) {
	victim := -1
	await(f.t, "a relay has something under way", func() bool {
		victim = f.busy()
		return victim >= 0
	})
	// At any moment of a page: before the broker has it, and after.
	<-time.After(time.Duration(f.rng.IntN(8000)) * time.Microsecond)
	p, what, count := f.relays[victim], "SIGKILL", &f.kills
	if freeze {
		what, count = "SIGSTOP past the lease", &f.stops
		f.freeze(p)
	} else {
		p.kill() // returns when all that it has said was heard
		f.relays[victim] = f.spawn(fastTakeover().Lease, f.environ...)
	}
	unsettled := p.unsettled()
	f.t.Logf("%s, relay %d: %d records sent and unsettled", what, victim, unsettled)
	if unsettled > 0 {
		*count++
	} else {
		f.idle++
	}
}

// freeze stops a relay for longer than its lease.
func (f *fleet) freeze(p *process) {
	require.NoError(f.t, p.cmd.Process.Signal(syscall.SIGSTOP))
	p.frozen.Store(true)
	lease := fastTakeover().Lease
	time.AfterFunc(lease+lease/2, p.thaw)
}

// thaw resumes a frozen process.
func (p *process) thaw() {
	if p.frozen.CompareAndSwap(true, false) {
		_ = p.cmd.Process.Signal(syscall.SIGCONT) // it may have been killed by the end of the test
	}
}

// produceUntil keeps producers busy until stop is called.
func (f *fleet) produceUntil() (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for producer := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(producer), 9))
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if err := f.produce(rng, fmt.Sprintf("p%d-%d", producer, n)); err != nil {
					f.t.Error(err)
					return
				}
			}
		})
	}
	return func() {
		close(done)
		wg.Wait()
	}
}

// stopAll stops every relay cleanly.
func (f *fleet) stopAll() {
	for i, p := range f.relays {
		p.thaw()
		require.NoError(f.t, p.stop(), "relay %d", i)
	}
}

// TestO2_O5_FleetUnderFire: five replicas with one slot or four are killed, or frozen for longer than
// their lease, each while it has unsettled records. Kafka then holds exactly what was committed: nothing
// is lost, nothing was rolled back, no copy is altered, and each key is in order.
//
//leat:level 4
func TestO2_O5_FleetUnderFire(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "five processes, and faults that take a lease each")
	for _, slots := range []int{1, 4} {
		t.Run(fmt.Sprint("slots=", slots), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, slots)
			stop := f.produceUntil()
			for n := 0; f.kills < 3+slots || f.stops < 2; n++ {
				f.strike(n%3 == 1)
			}
			stop()
			f.awaitAll()
			f.stopAll()
			r := f.audit(f.log())
			t.Logf("%d messages, %d further copies, at most %d of one; %d kills and %d stops with records under way, %d without",
				f.ledger.size(), r.copies, r.most, f.kills, f.stops, f.idle)
			require.LessOrEqual(t, r.most, 1+f.kills+f.stops+f.idle, "O10")
			r.copies, r.most = 0, 0
			require.Equal(t, report{}, r)
			require.Equal(t, f.ledger.size(), stored(t, f.db), "O1")
			require.Zero(t, query1[int](t, f.db, "SELECT count(*) FROM leat.outbox_leases WHERE owner IS NOT NULL"), "O13")
			require.Zero(t, query1[int](t, f.db, "SELECT count(*) FROM leat.outbox_held"))
		})
	}
}
