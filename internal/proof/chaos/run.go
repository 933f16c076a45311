package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/proof/report"
)

// checkExactly is the name of the check that the driver makes itself.
const checkExactly = "exactly once"

// checkProgress is the name of the check that nothing stood still permanently.
const checkProgress = "progress"

// Run injects faults into a run of all roles, waits until the system is at rest, and has the
// history judged. It returns the findings; OK of the result reports whether they are all good. An
// error means that the run could not be completed or judged.
//
// The program must call testenv.Supervise first thing in main, and then call roles.Run if
// roles.FromEnvironment reports a role.
func Run(ctx context.Context, o Options) (r report.Run, err error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return r, err
	}
	began := time.Now()
	fmt.Fprintf(o.Out, "seed %d, histories in %s\n", o.Seed, o.Dir)
	st, err := openStage(ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	p, err := st.perform(ctx)
	if err != nil {
		return r, err
	}
	st.store.forget()
	receipts, repeats, err := st.dump(ctx)
	if err != nil {
		return r, err
	}
	fmt.Fprintln(o.Out, "judging the history")
	verdict, err := history.Check(ctx, st.historyDir(), history.Options{})
	if err != nil {
		return r, err
	}
	verdict.Faults = slices.DeleteFunc(verdict.Faults, func(f history.FaultCount) bool { return f.Kind == roles.KindObserved })
	if st.runs(roles.Exact) {
		verdict.Checks = append(verdict.Checks, history.Finding{
			Name: checkExactly, Promise: "readers of committed records see every receipt once", Checked: receipts, Violations: repeats,
		})
	}
	verdict.Checks = append(verdict.Checks, progress(p.stands))
	r = report.Run{
		Start: began.UTC(), Seconds: time.Since(began).Seconds(), Seed: o.Seed, Services: st.services(),
		Machine:   fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()),
		Processes: p.processes.count(), Faults: verdict.Faults, Verdict: verdict, Samples: p.gauge.samples,
		Marks: p.tally.marked(), Load: load(), Daemon: o.Extras.Daemon != nil,
	}
	for _, s := range p.processes.surprises() {
		fmt.Fprintln(o.Out, "ended by itself:", s)
	}
	return r, r.Save(filepath.Join(o.Dir, "run.json"))
}

// load returns how many processes were ready to run, on average over 15 minutes. It is empty if the system
// does not report it.
func load() string {
	averages, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(averages)); err == nil && len(fields) > 2 {
		return fields[2]
	}
	return ""
}

// progress returns the finding of that check.
func progress(stands []string) history.Finding {
	f := history.Finding{
		Name: checkProgress, Promise: "nothing stands still for longer than what it waits for", Checked: 1 + len(stands), Violations: len(stands),
	}
	if len(stands) > 0 {
		f.First = &history.Offence{Summary: stands[0]}
	}
	return f
}

// services returns the servers and their versions.
func (st *stage) services() []report.Service {
	all := []report.Service{st.store.service(), {Name: "Apache Kafka", Version: st.kafka.Version}}
	if st.redis != nil {
		all = append(all, report.Service{Name: "Redis", Version: st.redis.Version})
	}
	return all
}

// both returns two functions. Each must be called once, and the second call calls done.
func both(done func()) (one, other func()) {
	var left atomic.Int32
	left.Store(2)
	step := func() {
		if left.Add(-1) == 0 {
			done()
		}
	}
	return step, step
}

// performance is the result of a run, before it is judged.
type performance struct {
	processes *processes
	tally     *tally
	gauge     *gauge
	// stands are the reports of parts that stood still, with the reasons.
	stands []string
}

// perform starts the processes, injects faults, and waits until the system is at rest.
func (st *stage) perform(ctx context.Context) (p *performance, err error) {
	log, err := history.Append(filepath.Join(st.historyDir(), "faults.jsonl"), "driver")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	m := newMail()
	processes, err := openProcesses(ctx, st, m)
	if err != nil {
		return nil, err
	}
	defer processes.end()
	if err := processes.flows(ctx); err != nil {
		return nil, err
	}
	start := time.Now()
	injecting, enough := context.WithTimeout(ctx, st.options.For)
	defer enough()
	counted, acted := both(enough)
	in := &injection{stage: st, processes: processes, mail: m, tally: newTally(log, start, st.options.Faults, counted)}
	p = &performance{processes: in.processes, tally: in.tally, gauge: &gauge{injection: in, start: start}}
	var group sync.WaitGroup
	defer group.Wait()
	sampling, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() { p.gauge.run(sampling) })
	operating, dismiss := context.WithCancel(ctx) // separate, since an act may take longer than the injection
	defer dismiss()
	group.Go(func() { st.operate(operating) })
	err = in.run(injecting, acted)
	enough()
	dismiss()
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	fmt.Fprintln(st.options.Out, "no more faults, all comes to rest")
	if err := in.drain(ctx); err != nil {
		return nil, err
	}
	p.stands = in.stands
	return p, in.tally.err
}
