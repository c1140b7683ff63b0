import{R as e,S as t,a as n,c as r,j as i,k as a,u as o,x as s}from"./words.js";import{E as c,t as l}from"./jsxRuntime.js";import{v as u,y as d}from"./index.js";function f({name:e,now:t,before:i,unit:a=``,less:o=!1,isAnswer:s=!1,note:u}){let d=e=>e===null?`none`:r(e),f=e=>e===null||!a?``:` ${p(a,e)}`,m=i!==void 0&&i!==t,h=m&&(t===null||i!==null&&(o?t>i:t<i));return l(`div`,{class:s?`answer`:void 0,children:[l(`dt`,{children:e}),l(`dd`,{children:[m&&l(c,{children:[l(`s`,{children:[l(`span`,{class:`unseen`,children:`before `}),d(i)]}),` `,l(`span`,{"aria-hidden":`true`,children:`→`}),` `]}),l(`strong`,{children:[d(t),f(t)]}),(u||m&&i!==null&&t!==null)&&l(c,{children:[` `,l(`em`,{class:u?`quiet`:h?`worse`:`better`,children:u??n(i,t)})]})]})]})}var p=(e,t)=>e===`hop`||e===`link`||e===`chip`?`${e}${t===1?``:`s`}`:e,m=a(`
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
`,[u]),h=a(`
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
`),g=a(`
  fragment History on EventConnection { totalCount nodes { ...Changed address batch } }
`,[u]),_=a(`
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
`,[m,h,g]),v=a(`
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
`,[m,h,g,u,d]),y=a(`
  fragment Capability on DomainImpact {
    domain chipsBefore chipsNow incomparable
    poolBefore { gibibytes }
    poolNow { gibibytes }
    bisectionBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    bisectionNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    allGatherBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    allGatherNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
  }
`),b=a(`
  query Loss($scope: Address!, $domain: Address!) {
    chips(filter: { domain: { eq: $domain } }, first: 1) { aggregates(by: [STATE]) { state count } }
    incidents(scope: $scope, first: 1) { nodes { jobs impact { domains { ...Capability } } } }
  }
`,[y]),x=e=>e===`up`||e===`degraded`,S=({allGatherBefore:e,allGatherNow:t,bisectionBefore:n,bisectionNow:r,incomparable:i})=>t.upper.gigabytesPerSecond<e.lower.gigabytesPerSecond||!i&&r.upper.gigabytesPerSecond<n.lower.gigabytesPerSecond;function C({loss:e,of:t}){let n=e=>t?`${e} ${e===`Working chips`?`in`:`of`} ${t}`:e;return l(c,{children:[l(f,{name:n(`Working chips`),before:e.chipsBefore,now:e.chipsNow}),l(f,{name:n(`All-gather limit`),before:e.allGatherBefore.upper.gigabytesPerSecond,now:e.allGatherNow.upper.gigabytesPerSecond,unit:`GB/s`}),l(f,{name:n(`Bisection bandwidth`),before:e.bisectionBefore.upper.gigabytesPerSecond,now:e.bisectionNow.upper.gigabytesPerSecond,unit:`GB/s`,note:e.incomparable?`of ${e.chipsNow}, not ${e.chipsBefore} chips`:void 0}),l(f,{name:n(`Memory pool`),before:e.poolBefore.gibibytes,now:e.poolNow.gibibytes,unit:`GiB`})]})}var w=({incidents:e},t)=>e.nodes[0]?.impact.domains.find(e=>e.domain===t);function T({scope:n,domain:r,jobs:a=[]}){let o=e(i(b,{scope:n,domain:r}));return l(t,{result:o,children:({chips:e,incidents:t})=>{let[n]=t.nodes,i=w({incidents:t},r),o=e.aggregates.reduce((e,{state:t,count:n})=>e+(x(t)?n:0),0),c=i&&S(i)?a.filter(e=>!n?.jobs.includes(e)):[];return l(`dl`,{class:`figures`,children:[i?l(C,{loss:i}):l(f,{name:`Working chips`,before:void 0,now:o}),c.length>0&&l(`div`,{children:[l(`dt`,{children:`Slower jobs`}),l(`dd`,{children:l(s,{jobs:c})})]})]})}})}var E=({scope:e,domain:t})=>l(`div`,{class:`inner loss`,children:[l(`h3`,{children:[`Domain `,o(t.split(`/`)[0]??``,t),`, before → now`]}),l(T,{scope:e,domain:t})]});function D({domain:t,jobs:n,causes:r,children:a}){let{data:o}=e(i(b,{scope:t,domain:t}));return l(c,{children:[l(`section`,{class:`card flush cost`,"aria-label":`What it costs`,children:[l(`h2`,{children:[`What `,r>1?`the worst cause`:`it`,` costs `,l(`span`,{class:`quiet`,children:`before → now`})]}),l(`div`,{class:`inner loss`,children:l(T,{scope:t,domain:t,jobs:n})})]}),o&&!w(o,t)&&a]})}export{y as a,f as c,S as i,E as n,v as o,C as r,_ as s,D as t};