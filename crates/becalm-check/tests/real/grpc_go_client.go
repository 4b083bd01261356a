// Makes calls one after the other with grpc-go, and tells how each ended: the number of its code, or "refused" where the
// service config is not taken.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
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
	address, config := os.Args[1], os.Args[2]
	calls, _ := strconv.Atoi(os.Args[3])
	channel, err := grpc.Dial(address, grpc.WithInsecure(), grpc.WithDefaultServiceConfig(config))
	if err != nil {
		fmt.Println("refused")
		return
	}
	for i := 0; i < calls; i++ {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		err := channel.Invoke(ctx, "/shop.v1.Orders/Get", nil, nil, grpc.ForceCodec(plain{}))
		fmt.Println(int(status.Code(err)))
		cancel()
	}
}
