package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// progress shows the progress of a run: on a terminal one line that changes, elsewhere one line
// per second.
type progress struct {
	stage    *stage
	began    time.Time
	terminal bool
	phase    atomic.Pointer[string]
	stop     context.CancelFunc
	group    sync.WaitGroup
}

func showProgress(ctx context.Context, st *stage) *progress {
	ctx, stop := context.WithCancel(ctx)
	p := &progress{stage: st, began: time.Now(), stop: stop}
	if info, err := os.Stderr.Stat(); err == nil {
		p.terminal = info.Mode()&os.ModeCharDevice != 0
	}
	p.enter("start")
	p.group.Go(func() {
		for wait(ctx, time.Second) {
			p.show(ctx)
		}
	})
	return p
}

// enter names the current phase.
func (p *progress) enter(phase string) { p.phase.Store(&phase) }

// say prints a separate line.
func (p *progress) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, p.clear()+"%5.1fs  %s\n", time.Since(p.began).Seconds(), fmt.Sprintf(format, args...))
}

func (p *progress) clear() string {
	if p.terminal {
		return "\r\x1b[K"
	}
	return ""
}

// close shows the last state.
func (p *progress) close() {
	p.stop()
	p.group.Wait()
	if p.terminal {
		fmt.Fprintln(os.Stderr)
	}
}

// show prints one line. Figures that it cannot read are left out.
func (p *progress) show(ctx context.Context) {
	var committed, effects int64
	err := p.stage.producer.db.QueryRowContext(ctx, `SELECT count(*) FROM deliveries`).Scan(&committed)
	if err == nil {
		err = p.stage.stats.db.QueryRowContext(ctx, `SELECT count(*) FROM effects`).Scan(&effects)
	}
	s := p.stage.settings
	acked, total, kafkaErr := consumed(ctx, p.stage.kafka, p.stage.group, s.Topic)
	if err != nil || kafkaErr != nil {
		return
	}
	end := "\n"
	if p.terminal {
		end = ""
	}
	fmt.Fprintf(os.Stderr, p.clear()+"%5.1fs  %-22s committed %s of %s · in the topic %s · consumed %s · effects %s"+end,
		time.Since(p.began).Seconds(), *p.phase.Load(), thousands(committed), thousands(int64(s.Events)),
		thousands(total), thousands(acked), thousands(effects))
}

// thousands writes 12345 as 12,345.
func thousands(n int64) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
