package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The words of the protocol's JSON that are used here.
type (
	object = map[string]any

	attribute struct {
		Key   string `json:"key"`
		Value object `json:"value"`
	}
)

func text(key, value string) attribute { return attribute{key, object{"stringValue": value}} }

func number(key string, n int64) attribute {
	return attribute{key, object{"intValue": strconv.FormatInt(n, 10)}} // 64 bits are texts in the protocol's JSON
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func (e *Exporter) resource() object {
	list := []attribute{text("service.name", e.cfg.Service)}
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Attributes)) {
		list = append(list, text(name, e.cfg.Attributes[name]))
	}
	return object{"attributes": list}
}

var scope = object{"name": "github.com/outlast-go/outlast"}

func (e *Exporter) traceRequest(batch []span) object {
	spans := make([]object, len(batch))
	for i, s := range batch {
		spans[i] = s.object()
	}
	return object{"resourceSpans": []object{{"resource": e.resource(), "scopeSpans": []object{{"scope": scope, "spans": spans}}}}}
}

// cumulative is how counters are told: since the beginning.
const cumulative = 2

// metricRequest makes metrics of the text that Prometheus reads.
func (e *Exporter) metricRequest(page string, now time.Time) object {
	help, kind, points := map[string]string{}, map[string]string{}, map[string][]object{}
	kind[droppedName], help[droppedName] = "counter", "Spans that were not sent."
	page += fmt.Sprintf("%s %d\n", droppedName, e.Dropped())
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, words, _ := strings.Cut(rest, " ")
			help[name] = words
		} else if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, word, _ := strings.Cut(rest, " ")
			kind[name] = word
		} else if name, labels, value, ok := sample(line); ok {
			point := object{"timeUnixNano": nanos(now), "asDouble": value, "attributes": labels}
			if kind[name] == "counter" {
				point["startTimeUnixNano"] = nanos(e.begun)
			}
			points[name] = append(points[name], point)
		}
	}
	var list []object
	for _, name := range slices.Sorted(maps.Keys(points)) {
		m := object{"name": name, "description": help[name]}
		if kind[name] == "counter" {
			m["sum"] = object{"aggregationTemporality": cumulative, "isMonotonic": true, "dataPoints": points[name]}
		} else {
			m["gauge"] = object{"dataPoints": points[name]}
		}
		list = append(list, m)
	}
	return object{"resourceMetrics": []object{{"resource": e.resource(), "scopeMetrics": []object{{"scope": scope, "metrics": list}}}}}
}

const droppedName = "outlast_otlp_dropped_spans_total"

// sample reads a line: name{label="value",…} number.
func sample(line string) (name string, labels []attribute, value float64, ok bool) {
	at := strings.LastIndexByte(line, ' ')
	if at < 0 || strings.HasPrefix(line, "#") {
		return "", nil, 0, false
	}
	value, err := strconv.ParseFloat(line[at+1:], 64)
	if err != nil {
		return "", nil, 0, false
	}
	name, rest, _ := strings.Cut(line[:at], "{")
	labels = []attribute{}
	for rest != "" && rest != "}" {
		key, quoted, found := strings.Cut(rest, "=")
		q, err := strconv.QuotedPrefix(quoted)
		if !found || err != nil {
			return "", nil, 0, false
		}
		word, err := strconv.Unquote(q)
		if err != nil {
			return "", nil, 0, false
		}
		labels = append(labels, text(key, word))
		rest = strings.TrimPrefix(quoted[len(q):], ",")
	}
	return name, labels, value, true
}

// tries is how often a request is made that the collector was too busy for.
const tries = 3

// post sends one request.
func (e *Exporter) post(ctx context.Context, url string, body object) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		again, err := e.postOnce(ctx, url, data)
		if err == nil {
			e.lost = false
			return nil
		}
		if !again || n == tries || ctx.Err() != nil {
			return err
		}
		rest := time.NewTimer(time.Duration(n) * 200 * time.Millisecond)
		select {
		case <-rest.C:
		case <-ctx.Done():
		}
		rest.Stop()
	}
}

func (e *Exporter) postOnce(ctx context.Context, url string, data []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range e.cfg.Headers {
		req.Header.Set(name, value)
	}
	res, err := e.cfg.Client.Do(req)
	if err != nil {
		return true, fmt.Errorf("export to %s: %w", req.URL.Host, err)
	}
	defer func() { _ = res.Body.Close() }() // it was read
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	if res.StatusCode > 299 {
		return again, fmt.Errorf("export to %s: status %d", req.URL.Host, res.StatusCode)
	}
	return false, nil
}
