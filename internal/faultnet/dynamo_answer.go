package faultnet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// DynamoAnswer returns an answer of DynamoDB that refuses a request with the given error code.
func DynamoAnswer(status int, code string) *http.Response {
	return dynamoAnswer(status, map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": code + " by faultnet"})
}

// DynamoCancelled returns the answer to a transaction that was cancelled, with the code of each
// of its items.
func DynamoCancelled(codes ...string) *http.Response {
	reasons := make([]map[string]string, len(codes))
	for i, code := range codes {
		reasons[i] = map[string]string{"Code": code}
	}
	return dynamoAnswer(http.StatusBadRequest, map[string]any{
		"__type":  "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
		"message": "Transaction cancelled by faultnet", "CancellationReasons": reasons,
	})
}

func dynamoAnswer(status int, out map[string]any) *http.Response {
	raw, err := json.Marshal(out)
	if err != nil {
		panic(err) // maps of texts
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(bytes.NewReader(raw)), ContentLength: int64(len(raw)),
	}
}

// conflict cancels a transaction because of its first item.
func conflict(body []byte) (*http.Response, error) {
	var in struct{ TransactItems []json.RawMessage }
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("faultnet: a transaction: %w", err)
	}
	codes := make([]string, max(1, len(in.TransactItems)))
	for i := range codes {
		codes[i] = "None"
	}
	codes[0] = "TransactionConflict"
	return DynamoCancelled(codes...), nil
}

// unprocessed is the part of a batch that is left undone.
type unprocessed struct {
	kind     string // Items or Keys
	requests map[string]any
}

// halve returns the half of a batch to carry out, and the rest, nil if there is none.
func (d *Dynamo) halve(operation string, body []byte) ([]byte, *unprocessed, error) {
	kind := map[string]string{"BatchWriteItem": "Items", "BatchGetItem": "Keys"}[operation]
	if kind == "" || d.Partial < 1 {
		return body, nil, nil
	}
	var in map[string]any
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, nil, fmt.Errorf("faultnet: a batch: %w", err)
	}
	tables, _ := in["RequestItems"].(map[string]any)
	rest := &unprocessed{kind: kind, requests: make(map[string]any)}
	for table, requests := range tables {
		switch all := requests.(type) {
		case []any:
			if len(all) > 1 {
				tables[table], rest.requests[table] = all[:len(all)/2], all[len(all)/2:]
			}
		case map[string]any:
			if keys, _ := all["Keys"].([]any); len(keys) > 1 {
				all["Keys"], rest.requests[table] = keys[:len(keys)/2], map[string]any{"Keys": keys[len(keys)/2:]}
			}
		}
	}
	if len(rest.requests) == 0 || !d.strikes(DynamoPartial, d.Partial) {
		return body, nil, nil
	}
	body, err := json.Marshal(in)
	return body, rest, err
}

// show removes what it hides or forgets from the results of a Query.
func (d *Dynamo) show(out map[string]any) {
	shown := []any{}
	items, _ := out["Items"].([]any)
	for _, i := range items {
		if d.Hide && d.hides(fmt.Sprint(i)) {
			continue
		}
		if attributes, ok := i.(map[string]any); ok {
			delete(attributes, d.Forget)
		}
		shown = append(shown, i)
	}
	out["Items"] = shown
}

// hides reports whether an item is met for the first time and is every second one.
func (d *Dynamo) hides(item string) bool {
	d.mu.Lock()
	met := d.met[item]
	if d.met == nil {
		d.met = make(map[string]bool)
	}
	d.met[item] = true
	d.mu.Unlock()
	return !met && d.strikes(DynamoHide, 2)
}

// changed returns the answer with another body.
func changed(answer *http.Response, change func(out map[string]any)) (*http.Response, error) {
	raw, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("faultnet: an answer of DynamoDB: %w", err)
	}
	change(out)
	next := dynamoAnswer(answer.StatusCode, out)
	next.Request = answer.Request
	for name, values := range answer.Header { // the time of the server among them
		if name != "X-Amz-Crc32" && name != "Content-Length" {
			next.Header[name] = values
		}
	}
	return next, nil
}
