package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// State of a connector or a task, as Kafka Connect calls it.
type State string

// The states that this package uses.
const (
	Running State = "RUNNING"
	Stopped State = "STOPPED"
	Failed  State = "FAILED"
)

// Status is the worker's report about a connector.
type Status struct {
	// Connector is the state of the connector itself.
	Connector struct {
		State State  `json:"state"`
		Trace string `json:"trace"`
	} `json:"connector"`
	// Tasks do the work. A stopped connector has none.
	Tasks []struct {
		State State  `json:"state"`
		Trace string `json:"trace"`
	} `json:"tasks"`
}

// Configure creates a connector, or changes the configuration of the one with that name. A stopped
// connector stays stopped.
func (w *Worker) Configure(ctx context.Context, name string, config map[string]string) error {
	return w.call(ctx, http.MethodPut, connectorPath(name, "config"), config, nil)
}

// Stop asks a connector to end its tasks. Its progress is stored.
func (w *Worker) Stop(ctx context.Context, name string) error {
	return w.call(ctx, http.MethodPut, connectorPath(name, "stop"), nil, nil)
}

// Resume asks a stopped connector to start again.
func (w *Worker) Resume(ctx context.Context, name string) error {
	return w.call(ctx, http.MethodPut, connectorPath(name, "resume"), nil, nil)
}

// Delete removes a connector. Its replication slot stays.
func (w *Worker) Delete(ctx context.Context, name string) error {
	return w.call(ctx, http.MethodDelete, connectorPath(name, ""), nil, nil)
}

// Await waits until a connector is Running, with its task, or Stopped, without one.
func (w *Worker) Await(ctx context.Context, name string, want State) error {
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for {
		status, err := w.Status(ctx, name)
		if err != nil {
			return err
		}
		if status.is(want) {
			return nil
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return fmt.Errorf("connect: %s is not %s: %w\n%s", name, want, ctx.Err(), w.Log())
		}
	}
}

// Status returns the worker's report about a connector, and an error if that or a task has failed.
func (w *Worker) Status(ctx context.Context, name string) (s Status, err error) {
	if err := w.call(ctx, http.MethodGet, connectorPath(name, "status"), nil, &s); err != nil {
		return s, err
	}
	if s.Connector.State == Failed {
		return s, fmt.Errorf("connect: connector %s has failed: %s", name, s.Connector.Trace)
	}
	for _, t := range s.Tasks {
		if t.State == Failed {
			return s, fmt.Errorf("connect: a task of %s has failed: %s", name, t.Trace)
		}
	}
	return s, nil
}

func (s Status) is(want State) bool {
	if s.Connector.State != want {
		return false
	}
	if want == Stopped {
		return len(s.Tasks) == 0
	}
	return len(s.Tasks) == 1 && s.Tasks[0].State == want
}

func connectorPath(name, of string) string {
	return strings.TrimSuffix("/connectors/"+url.PathEscape(name)+"/"+of, "/")
}

// call sends a request to the worker. The body is sent, and the answer read, as JSON;
// either may be nil.
func (w *Worker) call(ctx context.Context, method, path string, body, answer any) (err error) {
	var sent io.Reader = http.NoBody
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("connect: %s: %w", path, err)
		}
		sent = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+w.own.Address+path, sent)
	if err != nil {
		return fmt.Errorf("connect: %s: %w", path, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := w.client.Do(request)
	if err != nil {
		return fmt.Errorf("connect: %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("connect: %s: %w", path, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("connect: %s %s: %s: %s", method, path, response.Status, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("connect: %s: %w", path, err)
	}
	return nil
}
