// SPDX-License-Identifier: GPL-2.0-or-later

// A receiver of pushed profiles, as Pyroscope and Parca are, on Go's own parser of pprof files: the
// one that both use. Prints its port, then a line of JSON for each profile that it took; others are
// refused with the parser's words.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

type taken struct {
	Labels map[string]string `json:"labels"`
	Types  []string          `json:"types"`
	Period string            `json:"period"`
	Sums   []int64           `json:"sums"`
	Token  string            `json:"token"`
}

// As profilestore.proto has it, in the JSON of its gateway.
type writeRaw struct {
	Series []struct {
		Labels struct {
			Labels []struct {
				Name  string `json:"name"`
				Value string `json:"value"`
			} `json:"labels"`
		} `json:"labels"`
		Samples []struct {
			RawProfile []byte `json:"rawProfile"`
		} `json:"samples"`
	} `json:"series"`
	Normalized bool `json:"normalized"`
}

func judge(file []byte, labels map[string]string, token string) (*taken, error) {
	parsed, err := profile.Parse(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	if err := parsed.CheckValid(); err != nil {
		return nil, err
	}
	result := &taken{Labels: labels, Token: token, Sums: make([]int64, len(parsed.SampleType))}
	for _, valueType := range parsed.SampleType {
		result.Types = append(result.Types, valueType.Type+":"+valueType.Unit)
	}
	result.Period = parsed.PeriodType.Type + ":" + parsed.PeriodType.Unit
	for _, sample := range parsed.Sample {
		for i, value := range sample.Value {
			result.Sums[i] += value
		}
	}
	return result, nil
}

func ingest(r *http.Request) (*taken, error) {
	name := r.URL.Query().Get("name")
	open := strings.IndexByte(name, '{')
	if open < 0 || !strings.HasSuffix(name, "}") {
		return nil, fmt.Errorf("no labels: %q", name)
	}
	labels := map[string]string{"service_name": name[:open]}
	for _, label := range strings.Split(name[open+1:len(name)-1], ",") {
		if name[open:] == "{}" {
			break
		}
		pair := strings.SplitN(label, "=", 2)
		if len(pair) != 2 {
			return nil, fmt.Errorf("no label: %q", label)
		}
		labels[pair[0]] = pair[1]
	}
	config, _, err := r.FormFile("sample_type_config")
	if err != nil {
		return nil, err
	}
	var types map[string]struct {
		Units       string `json:"units"`
		Aggregation string `json:"aggregation"`
		Sampled     bool   `json:"sampled"`
	}
	decoder := json.NewDecoder(config)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&types); err != nil {
		return nil, err
	}
	part, _, err := r.FormFile("profile")
	if err != nil {
		return nil, err
	}
	file, err := io.ReadAll(part)
	if err != nil {
		return nil, err
	}
	return judge(file, labels, r.Header.Get("Authorization"))
}

func write(r *http.Request) (*taken, error) {
	var request writeRaw
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return nil, err
	}
	if len(request.Series) != 1 || len(request.Series[0].Samples) != 1 {
		return nil, fmt.Errorf("%d series", len(request.Series))
	}
	labels := map[string]string{}
	for _, label := range request.Series[0].Labels.Labels {
		labels[label.Name] = label.Value
	}
	return judge(request.Series[0].Samples[0].RawProfile, labels, r.Header.Get("Authorization"))
}

func serve(receive func(*http.Request) (*taken, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Slow") != "" {
			time.Sleep(2 * time.Second)
		}
		result, err := receive(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		line, _ := json.Marshal(result)
		fmt.Println(string(line))
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/ingest", serve(ingest))
	http.HandleFunc("/api/profiles/writeraw", serve(write))
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, nil))
}
