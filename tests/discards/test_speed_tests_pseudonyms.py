"""Pseudonyms of clients: stable, one for each, and of one network where the addresses are."""

import ipaddress
import json
import stat

import pytest
from brimful.discards.speed_tests import pseudonyms
from brimful.discards.speed_tests.pseudonyms import MONITORING_CLIENTS, Pseudonyms
from brimful.errors import UsageError
from discards.test_speed_tests import SERVER, loaded, ndt5, stored, tar
from hypothesis import given
from hypothesis import strategies as st

KEY = bytes(range(32))
FAMILIES = st.sampled_from([(4, 32), (6, 128)])


def address(version, number):
    return str((ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address)(number))


def number(text):
    return int(ipaddress.ip_address(text))


def shared_bits(one, other, bits):
    return bits - (one ^ other).bit_length()


@given(FAMILIES, st.data())
def test_as_many_first_bits_are_shared_as_in_the_addresses(family, data):
    version, bits = family
    one = data.draw(st.integers(0, 2**bits - 1))
    # Uniform numbers share hardly any bits: flip from a bit on.
    other = one ^ data.draw(st.integers(0, 2 ** data.draw(st.integers(0, bits)) - 1))
    names = Pseudonyms(KEY)
    first, second = names.client(address(version, one)), names.client(address(version, other))
    assert ipaddress.ip_address(first).version == version
    assert shared_bits(number(first), number(second), bits) == shared_bits(one, other, bits)
    assert Pseudonyms(KEY).client(address(version, one)) == first


def test_the_twin_that_goes_bit_by_bit_agrees():
    """The published scheme: each bit is turned by a function of the bits before it."""
    names = Pseudonyms(KEY)
    for text in ("198.51.100.23", "0.0.0.0", "255.255.255.255", "2001:db8::7"):
        given_address = ipaddress.ip_address(text)
        bits = f"{int(given_address):0{given_address.max_prefixlen}b}"
        turned = ""
        for place, bit in enumerate(bits):
            octets, within = divmod(place, 8)
            digest = names._digest(str(given_address.version).encode(), given_address.packed[:octets])[:32]
            turns = f"{int.from_bytes(digest, 'big'):0256b}"[::-1]
            before = int("1" + bits[8 * octets : place], 2)
            assert before < 2 ** (within + 1)
            turned += str(int(bit) ^ int(turns[before]))
        assert number(names.client(text)) == int(turned, 2)


def test_all_addresses_of_a_network_have_pseudonyms_of_their_own():
    names = Pseudonyms(KEY)
    replaced = {names.client(f"192.0.2.{host}") for host in range(256)}
    assert len(replaced) == 256
    assert len({one.rpartition(".")[0] for one in replaced}) == 1


def test_other_keys_make_other_pseudonyms():
    assert Pseudonyms(KEY).client("192.0.2.1") != Pseudonyms(KEY[::-1]).client("192.0.2.1")
    assert Pseudonyms(KEY).fingerprint != Pseudonyms(KEY[::-1]).fingerprint


def test_one_address_has_one_pseudonym_however_it_is_written():
    names = Pseudonyms(KEY)
    assert names.client("2001:DB8:0:0::1") == names.client("2001:db8::1")
    assert names.client("::ffff:192.0.2.1") == names.client("192.0.2.1")
    assert names.client("probe-7.example.org").startswith("client-")


def test_the_key_file_is_made_for_its_owner_alone(tmp_path):
    path = tmp_path / "key"
    names = Pseudonyms.from_file(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Pseudonyms.from_file(path).client("192.0.2.1") == names.client("192.0.2.1")


@pytest.mark.parametrize("content", ["", "abc", "zz" * 32, "00" * 31])
def test_a_file_without_a_key_is_refused(tmp_path, content):
    path = tmp_path / "key"
    path.write_text(content)
    with pytest.raises(UsageError, match="holds no key"):
        Pseudonyms.from_file(path)
    assert path.read_text() == content


def test_a_store_under_a_key_names_no_client_anywhere(tmp_path):
    clients = ["198.51.100.7", "2001:db8::7", *MONITORING_CLIENTS]
    files = {f"{n}.json": json.dumps(ndt5(uuid=f"u{n}", ClientIP=one)).encode() for n, one in enumerate(clients)}
    files["bad.json"] = json.dumps(ndt5(ClientIP="198.51.100.7", EndTime="never")).encode()
    names = Pseudonyms(KEY)
    store, _ = loaded(tmp_path, tar(tmp_path / "x-mlab1-bcn01.tar", files), pseudonyms=names)
    found = {row["test_id"]: row["client"] for row in stored(store)}
    assert found == {f"u{n}": names.client(one) for n, one in enumerate(clients)}
    assert json.loads((store.path / "monitoring_clients.json").read_text()) == [found[f"u{n}"] for n in range(2, 11)]
    for path in store.path.rglob("*.json*"):
        assert not any(client in path.read_text() for client in clients)


def test_ids_that_are_named_after_clients_are_replaced(tmp_path):
    source = tmp_path / "flat.csv"
    source.write_text(
        "test_id,server_hostname,remote_ip,data_direction,StartTimeStamp,HCThruOctetsAcked,SndLimTimeRwin,"
        "SndLimTimeCwnd,SndLimTimeSnd\n"
        "20170509T13:45:13_host.example.org:53000.s2c,mlab1.dfw02.x,192.0.2.7,1,1494337513000000,1000000,1,9000000,1\n"
    )
    plain, _ = loaded(tmp_path, source)
    assert stored(plain)[0]["test_id"] == "20170509T13:45:13_host.example.org:53000.s2c"
    store, _ = loaded(tmp_path, source, pseudonyms=Pseudonyms(KEY), store="other")
    assert stored(store)[0]["test_id"] == Pseudonyms(KEY).test_id("20170509T13:45:13_host.example.org:53000.s2c")


def test_a_store_has_one_way_to_name_clients(tmp_path):
    source = tar(tmp_path / "x-mlab1-bcn01.tar", {"a.json": json.dumps(ndt5()).encode()})
    loaded(tmp_path, source)
    with pytest.raises(UsageError, match="without pseudonyms"):
        loaded(tmp_path, source, pseudonyms=Pseudonyms(KEY))
    # What something else than this command put there is without pseudonyms as well.
    (tmp_path / "store" / "pseudonyms.json").unlink()
    with pytest.raises(UsageError, match="without pseudonyms"):
        loaded(tmp_path, source, pseudonyms=Pseudonyms(KEY))
    loaded(tmp_path, source, pseudonyms=Pseudonyms(KEY), store="other")
    with pytest.raises(UsageError, match="under the key"):
        loaded(tmp_path, source, store="other", server=SERVER)


def test_monitoring_clients_of_a_store_without_pseudonyms(tmp_path):
    store, _ = loaded(tmp_path, tar(tmp_path / "x-mlab1-bcn01.tar", {"a.json": b"{}"}))
    assert json.loads((store.path / "monitoring_clients.json").read_text()) == list(MONITORING_CLIENTS)
    assert all(pseudonyms.canonical(one) == one for one in MONITORING_CLIENTS)
