package main

import (
	"context"
	"net/url"
	"strings"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/otlp"
)

// telemetry reads where traces and metrics go: the option, else what OpenTelemetry's own variables say.
func (d *daemon) telemetry() (err error) {
	endpoint := d.l.Text("otlp-endpoint")
	if endpoint == "" {
		endpoint = d.l.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	if endpoint == "" || strings.EqualFold(d.l.Getenv("OTEL_SDK_DISABLED"), "true") {
		return nil
	}
	cfg := otlp.Config{
		Endpoint: endpoint, Service: d.l.Getenv("OTEL_SERVICE_NAME"), Logger: d.log,
		Headers: listed(d.l.Getenv("OTEL_EXPORTER_OTLP_HEADERS")), Attributes: listed(d.l.Getenv("OTEL_RESOURCE_ATTRIBUTES")),
		Metrics: func(ctx context.Context) (string, error) { return d.server.Load().Metrics(ctx) },
	}
	if v := buildVersion(); v != "" && cfg.Attributes["service.version"] == "" {
		cfg.Attributes["service.version"] = v
	}
	if d.otlp, err = otlp.New(cfg); err != nil {
		return cli.Misused("--otlp-endpoint is %q; write it as http://localhost:4318", cli.Mask(endpoint))
	}
	return nil
}

// listed reads name=value,name=value, as OpenTelemetry's variables are written; what is not of that form is passed over.
func listed(text string) map[string]string {
	all := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			continue
		}
		value = strings.TrimSpace(value)
		if plain, err := url.QueryUnescape(value); err == nil {
			value = plain
		}
		all[name] = value
	}
	return all
}
