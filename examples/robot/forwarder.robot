*** Settings ***
Documentation    How much a forwarder takes. Put lab:bridge or tester:eth1,eth2 in the place of sim:.
Library          brimful.robot    runs=results/runs    html=results/throughput.html

*** Variables ***
${FORWARDER}     sim:soft-knee,capacity=1Mpps,seed=1

*** Test Cases ***
Throughput Is High Enough
    ${result}=    Search Throughput    ${FORWARDER}    preset=quick
    Throughput Should Be Regular    ${result}
    Throughput Should Be At Least    ${result}    0.8Mpps
    Throughput Should Be At Least    ${result}    0.9Mpps    goal=pdr

Large Frames Are Forwarded Too
    ${result}=    Search Throughput    ${FORWARDER}    preset=quick    traffic=--frame-size=1518
    ${load}=    Get Throughput    ${result}    goal=pdr
    Should Be True    ${load} > 0.9e6

New Build Is Not Slower
    ${comparison}=    Compare Devices    ${FORWARDER}    ${FORWARDER}    tolerance=2%    budget=60s
    No Device Should Be Slower    ${comparison}
