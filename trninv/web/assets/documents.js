import{S as e,b as t}from"./parts.js";var n=t(`
  query Jobs($scope: Address) {
    jobs(scope: $scope, first: 500) {
      totalCount
      nodes { name system externalId cluster chips servers firstServer failedChips startedAt pinned who }
    }
  }
`),r=e(t(`
    query JobScopes {
      clusters(first: 1000) { nodes { address chips(first: 1) { totalCount } } }
    }
  `),{}),i=t(`
  query JobRoom($scope: Address!) {
    free(scope: $scope) { chips usable allocated reserved cordoned free degraded unusable largestBlock concurrentJobs { chips jobs } }
  }
`),a=t(`
  query JobReservations($scope: Address) {
    reservations(scope: $scope, first: 50) {
      totalCount
      nodes { name kind place chips failedChips fromAt untilAt reservedAt who why }
    }
  }
`),o=t(`
  query Fits(
    $scope: Address!, $chips: Int, $servers: Int, $domains: Int, $memory: BigInt, $shape: String, $anyBlock: Boolean!
  ) {
    placements(
      scope: $scope, chips: $chips, servers: $servers, domains: $domains, memory: $memory, shape: $shape
      anyBlock: $anyBlock, k: 100
    ) {
      scope request chips reason suggestedShape positions free reservations
      filterSteps { condition domains }
      placements {
        places servers shape chips degraded remainingFree
        allGather { gigabytesPerSecond }
        bisection { gigabytesPerSecond }
      }
    }
  }
`),s=t(`
  fragment Moved on JobMove { job chips source destination mustStop obstacle }
`),c=t(`
  query MakeRoom($scope: Address!, $chips: Int, $servers: Int, $domains: Int, $shape: String) {
    makeRoom(scope: $scope, chips: $chips, servers: $servers, domains: $domains, shape: $shape) {
      request chips possible places movedChips lowerBoundMoves exact cordonedServers reservations revision
      moves { ...Moved }
    }
  }
`,[s]),l=t(`
  query DrainImpact($scope: Address!, $cordonable: Boolean!) {
    free(scope: $scope) @include(if: $cordonable) { cordoned allocatedOnCordoned }
    drainImpact(scope: $scope) {
      scope disrupted unplanned stopped chips failedChips largestBlock largestBlockAfter reservations revision
      jobs {
        job chips lostChips mustStop outcome destination
        allGather { gigabytesPerSecond }
        allGatherAfter { gigabytesPerSecond }
        moves { job }
      }
      moves { ...Moved }
      sizes { chips jobs jobsAfter }
    }
  }
`,[s]),u={chips:`Chips`,servers:`Servers`,domains:`Domains`,memory:`HBM (GiB)`,shape:`Shape`};function d(e){let[,t,n]=/^(chips|servers|domains|memory|shape):([\dx]{1,20})(?:GiB)?$/.exec(e??``)??[];return t&&n&&(t===`shape`||!n.includes(`x`))?{kind:t,text:n}:null}function f({kind:e,text:t}){let n=n=>e===n?Math.min(Number(t),2**31-1):null;return{chips:n(`chips`),servers:n(`servers`),domains:n(`domains`),shape:e===`shape`?t:null}}var p=({kind:e,text:t})=>e===`memory`?String(BigInt(t)*2n**30n):null;export{c as a,r as c,d,u as i,f as l,i as n,o,n as r,a as s,l as t,p as u};