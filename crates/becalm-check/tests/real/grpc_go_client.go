// Of each address, service config and number of calls: makes the calls one after the other with grpc-go, and tells in a line
// how each ended: the number of its code, or "refused" where the service config is not taken.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// Messages are bytes.
type plain struct{}

func (plain) Marshal(interface{}) ([]byte, error)   { return nil, nil }
func (plain) Unmarshal([]byte, interface{}) error   { return nil }
func (plain) String() string                        { return "proto" }
func (plain) Name() string                          { return "proto" }

func main() {
	for told := os.Args[1:]; len(told) >= 3; told = told[3:] {
		calls, _ := strconv.Atoi(told[2])
		fmt.Println(strings.Join(ended(told[0], told[1], calls), " "))
	}
}

func ended(address, config string, calls int) (codes []string) {
	channel, err := grpc.Dial(address, grpc.WithInsecure(), grpc.WithDefaultServiceConfig(config))
	if err != nil {
		return []string{"refused"}
	}
	defer channel.Close()
	for i := 0; i < calls; i++ {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		err := channel.Invoke(ctx, "/shop.v1.Orders/Get", nil, nil, grpc.ForceCodec(plain{}))
		codes = append(codes, strconv.Itoa(int(status.Code(err))))
		cancel()
	}
	return
}
