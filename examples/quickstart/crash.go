package main

import "context"

// crash kills the leading relay when Kafka has acknowledged records to it that
// the outbox still counts as unsent. When the other has taken over, it is started
// again.
func (p *performance) crash(ctx context.Context) error {
	if p.settings.CrashAfter == 0 {
		return nil
	}
	victim, r, err := p.caughtAtWork(ctx)
	if err != nil {
		return err
	}
	dead, heir := p.relays[victim], p.relays[1-victim]
	if err := dead.kill(); err != nil {
		return err
	}
	if err := crashMarker(p.settings.Dir).put(); err != nil {
		return err
	}
	p.progress.say("%s killed (SIGKILL) with %s records sent, the last %s acknowledged by Kafka and not settled",
		dead.name, thousands(int64(r.Sent)), thousands(int64(r.Unsettled)))
	p.progress.enter("a relay is down")
	if err := heir.await(ctx, leads); err != nil {
		return err
	}
	p.relays[victim], err = p.crew.start(dead.name, roleRelay, p.settings)
	p.progress.say("%s has taken over, %s is back and stands by", heir.name, dead.name)
	return err
}

// caughtAtWork waits for the relay that holds unsettled records. It is the first
// one, unless that has lost its lease on a machine that is very busy.
func (p *performance) caughtAtWork(ctx context.Context) (victim int, r report, err error) {
	for {
		select {
		case r = <-p.relays[0].reports:
			victim = 0
		case r = <-p.relays[1].reports:
			victim = 1
		case <-ctx.Done():
			return 0, r, context.Cause(ctx)
		}
		if r.Sent > 0 {
			return victim, r, nil
		}
	}
}
