package load

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/leat-go/leat/outbox"
)

// webhook is a line of the file: the fields that a message needs.
type webhook struct {
	Key     string          `json:"aggregate_id"`
	Payload json.RawMessage `json:"payload"`
}

// Webhooks returns count messages with the payloads of the file at path, in its order. When the file ends
// it starts again with new keys. A line is a JSON object with the payload and its key, aggregate_id. Ids
// are UUIDv7.
func Webhooks(path string, count int, topic string) ([]outbox.Message, error) {
	lines, err := webhooks(path)
	if err != nil {
		return nil, err
	}
	messages := make([]outbox.Message, count)
	for i := range messages {
		id, err := outbox.NewID()
		if err != nil {
			return nil, fmt.Errorf("load: id: %w", err)
		}
		line, repeat := lines[i%len(lines)], i/len(lines)
		messages[i] = outbox.Message{
			ID: id, Topic: topic, Key: line.Key + "-" + strconv.Itoa(repeat), Payload: line.Payload,
		}
	}
	return messages, nil
}

func webhooks(path string) (lines []webhook, err error) {
	file, err := os.Open(path) //nolint:gosec // the caller chooses it
	if err != nil {
		return nil, fmt.Errorf("load: webhooks: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for decoder := json.NewDecoder(bufio.NewReader(file)); ; {
		var line webhook
		err := decoder.Decode(&line)
		if errors.Is(err, io.EOF) && len(lines) > 0 {
			return lines, nil
		}
		if err != nil {
			return nil, fmt.Errorf("load: webhook %d: %w", len(lines)+1, err)
		}
		lines = append(lines, line)
	}
}
