//go:build peers

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assay.kit/reference/mcp"
)

// sdkHandler is a server on the official Go SDK as its users write one: typed tools, pages, streams that
// can be resumed, everything else as the SDK has it. It is pinned to the revision that is judged.
func sdkHandler(jsonAnswers bool) http.Handler {
	server := sdk.NewServer(&sdk.Implementation{Name: "on-go-sdk", Version: "1"},
		&sdk.ServerOptions{PageSize: 2, SupportedProtocolVersions: []string{mcp.Revision}})
	readOnly := &sdk.ToolAnnotations{ReadOnlyHint: true}
	sdk.AddTool(server, &sdk.Tool{Name: "add", Description: "Adds two numbers.", Annotations: readOnly}, add)
	sdk.AddTool(server, &sdk.Tool{Name: "count", Description: "Counts and says so while it does.", Annotations: readOnly}, count)
	sdk.AddTool(server, &sdk.Tool{Name: "divide", Description: "Divides two numbers, if it can.", Annotations: readOnly}, divide)
	sdk.AddTool(server, &sdk.Tool{Name: "greet", Description: "Greets.", Annotations: readOnly}, greet)
	sdk.AddTool(server, &sdk.Tool{Name: "note", Description: "Would keep a note."}, greet)
	options := &sdk.StreamableHTTPOptions{JSONResponse: jsonAnswers}
	if !jsonAnswers {
		options.EventStore = sdk.NewMemoryEventStore(nil)
	}
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, options)
}

type pair struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type number struct {
	Value float64 `json:"value"`
}

func add(_ context.Context, _ *sdk.CallToolRequest, in pair) (*sdk.CallToolResult, number, error) {
	return nil, number{in.A + in.B}, nil
}

func divide(_ context.Context, _ *sdk.CallToolRequest, in pair) (*sdk.CallToolResult, number, error) {
	if in.B == 0 {
		return nil, number{}, fmt.Errorf("%v cannot be divided by zero", in.A)
	}
	return nil, number{in.A / in.B}, nil
}

type counting struct {
	To int `json:"to"`
}

// count tells its progress and stops when it is cancelled.
func count(ctx context.Context, r *sdk.CallToolRequest, in counting) (*sdk.CallToolResult, number, error) {
	to := min(max(in.To, 0), 20)
	for i := range to {
		if token := r.Params.GetProgressToken(); token != nil {
			if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(i + 1), Total: float64(to)}); err != nil {
				return nil, number{}, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, number{}, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil, number{float64(to)}, nil
}

type named struct {
	Name string `json:"name"`
}

func greet(_ context.Context, _ *sdk.CallToolRequest, in named) (*sdk.CallToolResult, any, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Hello " + in.Name + "."}}}, nil, nil
}
