package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
)

// config is Prometheus's configuration. Its arguments are the file of rules and the address of the
// metrics.
const config = `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - {job_name: leat, static_configs: [{targets: [%q]}]}
`

// scraper is a running Prometheus, with its own directory.
type scraper struct {
	url   string
	dir   string
	began time.Time
	cmd   *exec.Cmd
	ended chan error
}

// startPrometheus starts a Prometheus that scrapes target.
func startPrometheus(ctx context.Context, target, rules string) (*scraper, error) {
	path, err := testenv.Prometheus(ctx)
	if err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "leat-watch-")
	if err != nil {
		return nil, err
	}
	p := &scraper{url: "http://" + address, dir: dir, began: time.Now(), ended: make(chan error, 1)}
	file := filepath.Join(dir, "prometheus.yml")
	if err := writeFiles(dir, rules, target); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	// stop ends Prometheus, not ctx, which would kill it.
	p.cmd = exec.Command(path, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=warn") //nolint:noctx,gosec // see above; the path is that of the package
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL} // Ctrl-C must not reach Prometheus
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	go func() { p.ended <- p.cmd.Wait() }()
	return p, nil
}

// writeFiles writes the configuration, and the rules with their waits shortened to seconds.
func writeFiles(dir, rules, target string) error {
	content, err := os.ReadFile(rules) //nolint:gosec // who runs it names the file
	if err != nil {
		return err
	}
	soon := filepath.Join(dir, "alerts.yml")
	if err := os.WriteFile(soon, hurried(content), 0o600); err != nil { //nolint:gosec // of a directory of its own
		return err
	}
	return os.WriteFile(filepath.Join(dir, "prometheus.yml"), fmt.Appendf(nil, config, soon, target), 0o600)
}

// graph returns the URL of a Prometheus page with the metrics of the story over the last minutes.
func (p *scraper) graph() string {
	var graphs []string
	for i, expr := range []string{"sum by (topic) (rate(leat_relay_settled_messages_total[15s]))", "max by (state) (leat_outbox_oldest_waiting_seconds)", "leat_outbox_held_messages"} {
		graphs = append(graphs, fmt.Sprintf("g%d.tab=0&g%d.range_input=5m&g%d.expr=%s", i, i, i, url.QueryEscape(expr)))
	}
	return p.url + "/graph?" + strings.Join(graphs, "&")
}

// freeAddress returns an address on which no process listened a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

var errEnded = errors.New("prometheus has ended")

// wait returns when ctx or Prometheus ends.
func (p *scraper) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-p.ended:
		p.ended <- err
		return errors.Join(errEnded, err)
	}
}

// stop ends Prometheus and removes its files.
func (p *scraper) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended: //nolint:errcheck // it was told to end
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended //nolint:errcheck // it was killed
	}
	_ = os.RemoveAll(p.dir)
}

// checks returns expressions that must have a value in Prometheus at the end.
func checks() []string {
	return []string{
		`up{job="leat"} == 1`, `sum(leat_relay_settled_messages_total) > 0`, `max(leat_outbox_lag_seconds) >= 0`,
		`sum(leat_inbox_deliveries_total{outcome="committed"}) > 0`, `sum(leat_outbox_held_messages{state="parked"}) > 0`, `leat:fresh:bool`,
	}
}

var errMissing = errors.New("prometheus has not seen it all")

// check waits until all checks hold, the rules are loaded and the story was told once. Then it sends the
// queries of the Grafana dashboard, and waits for the rest of the time.
func (p *scraper) check(ctx context.Context, rules string, o options, told <-chan struct{}) error {
	end := time.Now().Add(o.lasts)
	missing := append(checks(), "rules")
	for len(missing) > 0 {
		if time.Now().After(end) {
			return fmt.Errorf("%w within %s: %q", errMissing, o.lasts, missing)
		}
		var still []string
		for _, m := range missing {
			if !p.holds(ctx, m) {
				still = append(still, m)
			}
		}
		missing = still
		if err := wait.For(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	select {
	case <-told:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(end)):
		return fmt.Errorf("%w within %s: the end of the story", errMissing, o.lasts)
	}
	asked, empty, err := p.panels(ctx, rules)
	if err != nil {
		return err
	}
	for _, panel := range empty {
		fmt.Fprintln(o.to, "nothing to draw:", panel)
	}
	fmt.Fprintf(o.to, "Prometheus has scraped leat's metrics, and loaded its rules: %d checks hold. It takes the %d queries of the Grafana dashboard, %d of which have drawn something.\n",
		len(checks())+1, asked, asked-len(empty))
	return wait.For(ctx, time.Until(end))
}

// holds reports whether expr has a value. If expr is "rules", it reports whether all rules are loaded and
// healthy.
func (p *scraper) holds(ctx context.Context, expr string) bool {
	var answer struct {
		Data struct {
			Result []json.RawMessage
			Groups []struct {
				Rules []struct{ Health string }
			}
		}
	}
	path := "/api/v1/query?query=" + url.QueryEscape(expr)
	if expr == "rules" {
		path = "/api/v1/rules"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		return false
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = got.Body.Close() }()
	if json.NewDecoder(got.Body).Decode(&answer) != nil {
		return false
	}
	for _, g := range answer.Data.Groups {
		for _, rule := range g.Rules {
			if rule.Health != "ok" {
				return false
			}
		}
	}
	return len(answer.Data.Result)+len(answer.Data.Groups) > 0
}
