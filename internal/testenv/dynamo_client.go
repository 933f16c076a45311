package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// errDynamoReply is returned for answers that are no DynamoDB's, and for its refusals.
var errDynamoReply = errors.New("testenv: reply of DynamoDB")

// dynamoCall makes a request in DynamoDB's own JSON: the demo links this package, and so no
// client library. DynamoDB Local wants a signature and does not look at it.
func dynamoCall(ctx context.Context, url, operation string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	request.Header.Set("Authorization",
		"AWS4-HMAC-SHA256 Credential=leat/20200101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=none")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("testenv: DynamoDB: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("testenv: DynamoDB: %w", err)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%w: %s: %s: %.1000s", errDynamoReply, operation, response.Status, text)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%w: %s: %w", errDynamoReply, operation, err)
	}

	return nil
}

// dynamoTables lists the tables whose names start with prefix.
func dynamoTables(ctx context.Context, url, prefix string) ([]string, error) {
	var found []string
	for in := map[string]any{}; ; {
		var out struct {
			TableNames             []string
			LastEvaluatedTableName string
		}
		if err := dynamoCall(ctx, url, "ListTables", in, &out); err != nil {
			return nil, err
		}
		if out.TableNames == nil {
			return nil, fmt.Errorf("%w: ListTables: no list of tables", errDynamoReply)
		}
		for _, name := range out.TableNames {
			if strings.HasPrefix(name, prefix) {
				found = append(found, name)
			}
		}
		if out.LastEvaluatedTableName == "" {
			return found, nil
		}
		in["ExclusiveStartTableName"] = out.LastEvaluatedTableName
	}
}
