"""Results of speed tests as other tools write them, invented."""


def bigquery(**changes):
    """A row as bq exports it: whole numbers are text, times have no T."""
    last = {"BytesAcked": "95049504", "ElapsedTime": "9919546", "TotalRetrans": "1455", "SegsOut": "67854"}
    download = {
        "UUID": "ndt-rczlq_1666977535_unsafe_000000000016912D",
        "StartTime": "2022-11-30 23:07:35.945636 UTC",
        "EndTime": "2022-11-30 23:07:46.257389 UTC",
        "ServerMeasurements": [{"TCPInfo": {"BytesAcked": "1"}}, {"TCPInfo": last}, {"TCPInfo": None}],
    }
    row = {
        "id": "ndt-rczlq_1666977535_000000000016912D",
        "date": "2022-11-30",
        "a": {"UUID": "ndt-rczlq_1666977535_000000000016912D", "TestTime": "2022-11-30 23:07:35.945636 UTC"},
        "raw": {"ClientIP": "2a01:CB08:0::1", "ClientPort": "63384", "Download": download, "Upload": None},
        "server": {"Machine": "mlab2", "Site": "par04", "IP": "192.0.2.1"},
    }
    return row | changes


def iperf3(*, reverse=0, **changes):
    document = {
        "start": {
            "connected": [
                {"local_host": "10.0.0.2", "local_port": 5000, "remote_host": "10.0.0.1", "remote_port": 5201}
            ],
            "timestamp": {"time": "Thu, 01 Feb 2018 20:00:00 GMT", "timesecs": 1517515200},
            "connecting_to": {"host": "10.0.0.1", "port": 5201},
            "cookie": "abc",
            "tcp_mss_default": 1448,
            "test_start": {"protocol": "TCP", "num_streams": 1, "duration": 10, "reverse": reverse},
        },
        "intervals": [],
        "end": {
            "sum_sent": {"start": 0, "end": 10.0, "seconds": 10.0, "bytes": 1448_000, "retransmits": 3},
            "sum_received": {"seconds": 10.01, "bytes": 1447_000, "bits_per_second": 1.1564e6},
            "sender_tcp_congestion": "cubic",
        },
    }
    return document | changes
