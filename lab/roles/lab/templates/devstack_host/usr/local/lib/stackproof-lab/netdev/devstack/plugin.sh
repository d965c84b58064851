# Open vSwitch without its module of the kernel: all bridges are in the userspace datapath.
if [[ "$1 $2" == "stack install" ]]; then
    sudo ovs-vsctl --no-wait set open_vswitch . external-ids:ovn-bridge-datapath-type=netdev
    sudo ovs-vsctl --no-wait --may-exist add-br br-ex -- set bridge br-ex datapath_type=netdev
fi
