import{A as e}from"./words.js";import{I as t,L as n}from"./index.js";var r=e(`
  fragment Surroundings on Server {
    address ordinal state model instance host vcpus
    hostMemory { gibibytes }
    lastChange { ...Changed }
    chips(first: 64) { nodes { address ordinal state tray job use lastChange { why } } }
    nics(first: 64) { nodes { address ordinal state factor bandwidth { gigabytesPerSecond } } }
    rack {
      address ordinal rackUnits
      servers(first: 36) { nodes { address ordinal state trays { ordinal kind rackUnits } } }
    }
    domain {
      address model wiring
      servers(first: 64) { nodes { rack { address } } }
      switches(first: 100) { nodes { address ordinal state lastChange { why } server { ordinal } rack { ordinal } } }
      links(filter: { scope: { in: [SERVER, RACK, DOMAIN] } }, first: 1000) {
        nodes {
          address state technology scope
          nominal { gigabytesPerSecond }
          bandwidth { gigabytesPerSecond }
          a { address }
          b { address }
        }
      }
    }
  }
`,[t]),i=e(`
  fragment Placed on Layout {
    box { x y width height }
    font
    strokeWidth
    panels { x y width height }
    labels { text x y anchor strong }
    places { address x y width height text sign solid { x y z } }
    routes { address strokes sign }
    wrapLinks
  }
`),a=e(`
  fragment History on EventConnection { totalCount nodes { ...Changed address batch } }
`,[t]),o=e(`
  query ServerPage($address: Address!, $domain: Address!, $inside: String!, $narrow: Boolean!) {
    incidents(scope: $address, first: 1) { nodes { id } }
    cordons(scope: $address, first: 1) { nodes { why who startedAt } }
    allLinks: links(filter: { domain: { eq: $domain }, address: { contains: $inside } }, first: 1) { totalCount }
    idleLinks: links(
      filter: { domain: { eq: $domain }, address: { contains: $inside }, bandwidth: { eq: { bytesPerSecond: "0" } } }
      first: 1
    ) { totalCount }
    nicLinks: links(
      filter: { domain: { eq: $domain }, address: { contains: $inside }, scope: { in: [HOST, FABRIC] } }
      first: 1
    ) { totalCount }
    layout(place: $address, narrow: $narrow) { ...Placed }
    events(scope: $address, last: 500) { ...History }
    resolve(address: $address) { __typename ... on Server { factor ...Surroundings } }
  }
`,[r,i,a]),s=e(`
  query ChipPage($address: Address!, $server: Address!, $narrow: Boolean!) {
    incidents(scope: $address, first: 1) { nodes { id } }
    layout(place: $server, narrow: $narrow) { ...Placed }
    events(scope: $address, last: 100) { ...History }
    resolve(address: $address) {
      __typename
      ... on Chip {
        address state factor tray job use
        memory { gibibytes }
        memoryBandwidth { gigabytesPerSecond }
        model { name coreModel }
        cores(first: 1) { totalCount }
        lastChange { ...Changed }
        links(first: 64) { nodes { ...WireWithEnds } }
        server { ...Surroundings }
      }
    }
  }
`,[r,i,a,t,n]),c=e(`
  fragment Capability on DomainImpact {
    domain chipsBefore chipsNow incomparable slowerJobs
    poolBefore { gibibytes }
    poolNow { gibibytes }
    bisectionBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    bisectionNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    allGatherBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    allGatherNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
  }
`),l=e(`
  query Loss($scope: Address!, $domain: Address!) {
    chips(filter: { domain: { eq: $domain } }, first: 1) { aggregates(by: [STATE]) { state count } }
    incidents(scope: $scope, first: 1) { nodes { impact { domains { ...Capability } } } }
  }
`,[c]);export{o as i,s as n,l as r,c as t};