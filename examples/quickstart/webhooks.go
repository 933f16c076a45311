package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/leat-go/leat/outbox"
)

//go:embed data/github-webhooks.jsonl
var webhookFile []byte

// webhook is one delivery of GitHub.
type webhook struct {
	ID         string
	Repository string // or the organisation, installation or user it belongs to
	Type       string
	Payload    []byte

	index int
	rare  bool // the only one of its repository in the file
}

// webhookLines parses the file.
func webhookLines() ([]webhook, error) {
	var lines []webhook
	seen := map[string]int{}
	for line := range bytes.Lines(webhookFile) {
		var l struct {
			Type       string          `json:"type"`
			Repository string          `json:"aggregate_id"`
			Payload    json.RawMessage `json:"payload"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("line %d of the webhooks: %w", len(lines)+1, err)
		}
		lines = append(lines, webhook{Repository: l.Repository, Type: l.Type, Payload: l.Payload})
		seen[l.Repository]++
	}
	for i := range lines {
		lines[i].rare = seen[lines[i].Repository] == 1
	}
	return lines, nil
}

// arrive returns webhook number index: the file over and over, with new ids. Two thirds of the file
// belong to one repository, so in every other repeat the repositories are replaced by forks.
func arrive(lines []webhook, index int) (webhook, error) {
	id, err := outbox.NewID()
	if err != nil {
		return webhook{}, err
	}
	w := lines[index%len(lines)]
	w.ID, w.index = id, index
	if repeat := index / len(lines); repeat%2 == 1 {
		w.Repository += "-fork-" + strconv.Itoa(repeat)
	} else {
		w.rare = false // it comes again in the next repeat but one
	}
	return w, nil
}
